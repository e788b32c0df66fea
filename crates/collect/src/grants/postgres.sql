/* iostall:grants_postgres */
-- PostgreSQL: a plain login reads every counter that iostall stores. Run as an administrator, in psql:
--   \password iostall     sets the password without writing it anywhere
-- One session stays; those of the other databases, four at a time, last for a reading.
CREATE ROLE iostall LOGIN CONNECTION LIMIT 5;
ALTER ROLE iostall SET statement_timeout = '10s';
ALTER ROLE iostall SET default_transaction_read_only = on;
-- In clusters where CONNECT was taken from PUBLIC, for every database to be watched:
--   GRANT CONNECT ON DATABASE sales TO iostall;
-- The data directory, without which tables outside named tablespaces belong to no volume.
GRANT pg_read_all_settings TO iostall;
-- Without these the stall columns stay empty (pg_test_timing tells what they cost):
ALTER SYSTEM SET track_io_timing = on;
ALTER SYSTEM SET track_wal_io_timing = on; -- PostgreSQL 14 and later
SELECT pg_reload_conf();
