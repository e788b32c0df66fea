/* iostall:copy_tables */
SELECT table_schema, table_name
  FROM information_schema.tables
 WHERE table_type IN ('BASE TABLE', 'SEQUENCE')
   AND table_schema NOT IN ('information_schema', 'performance_schema', 'sys')
 ORDER BY table_schema, table_name
