/* iostall:postgres_make_table_again */
DROP TABLE t;
CREATE TABLE t AS SELECT 1 AS id;
