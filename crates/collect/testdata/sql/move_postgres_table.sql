/* iostall:move_postgres_table */
ALTER TABLE t SET TABLESPACE fast;
