/* iostall:count_objects */
/* Tables, views and indexes of any kind: none in a file that SQLite has just made. */
SELECT count(*)
  FROM sqlite_schema;
