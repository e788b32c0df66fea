/* iostall:0105_open_with_older_sqlite */

/* A store is for whoever has SQLite, and that of RHEL 8 is 3.26, of RHEL 9 3.34, of Debian 12 3.40. A file whose schema has one
   word that they do not know is "malformed" to them, all of it: STRICT is of 3.37, ORDER BY within an aggregate of 3.44, and
   json_valid may be left out of a build. What is on disk is the same with and without STRICT, so only the text changes. */
PRAGMA writable_schema = ON;

UPDATE sqlite_master
   SET sql = substr(sql, 1, length(sql) - length(' STRICT, WITHOUT ROWID')) || ' WITHOUT ROWID'
 WHERE type = 'table' AND sql LIKE '%) STRICT, WITHOUT ROWID';

UPDATE sqlite_master
   SET sql = substr(sql, 1, length(sql) - length(' STRICT'))
 WHERE type = 'table' AND sql LIKE '%) STRICT';

UPDATE sqlite_master
   SET sql = replace(sql, ' CHECK (json_valid(record))', '')
 WHERE type = 'table' AND name = 'capacity';

PRAGMA writable_schema = RESET;

/* Changes the number by which every connection sees that the schema is another. The paths come in the order of the primary key,
   by which the table is kept. */
DROP VIEW run_entry;

CREATE VIEW run_entry AS
SELECT run.*,
       (SELECT json_group_array(path)
          FROM (SELECT path FROM run_target WHERE run_number = run.number ORDER BY position)) AS targets
  FROM run;
