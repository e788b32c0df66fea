/* iostall:grants_postgres */
-- PostgreSQL: a plain login reads every counter that iostall stores. Run as an administrator, in psql:
--   \password iostall     sets the password without writing it anywhere
-- One session stays; those of the other databases, four at a time, last for a reading.
CREATE ROLE iostall LOGIN CONNECTION LIMIT 5;
ALTER ROLE iostall SET statement_timeout = '10s';
ALTER ROLE iostall SET default_transaction_read_only = on;
-- In clusters where CONNECT was taken from PUBLIC, for every database to be watched:
--   GRANT CONNECT ON DATABASE sales TO iostall;
-- Where the data directory is, without which tables outside named tablespaces belong to no volume. Run this in the
-- database that iostall's URL names (postgres, where it names none), as the user that initdb made: no other's function is
-- called. It tells nothing else, where pg_read_all_settings also shows the password in primary_conninfo; who was given that before:
--   REVOKE pg_read_all_settings FROM iostall;
CREATE SCHEMA iostall;
CREATE FUNCTION iostall.data_directory() RETURNS text
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog
  AS $$ SELECT current_setting('data_directory') $$;
REVOKE ALL ON FUNCTION iostall.data_directory() FROM PUBLIC;
GRANT USAGE ON SCHEMA iostall TO iostall;
GRANT EXECUTE ON FUNCTION iostall.data_directory() TO iostall;
-- Without these the stall columns stay empty (pg_test_timing tells what they cost):
ALTER SYSTEM SET track_io_timing = on;
ALTER SYSTEM SET track_wal_io_timing = on; -- PostgreSQL 14 and later
SELECT pg_reload_conf();
