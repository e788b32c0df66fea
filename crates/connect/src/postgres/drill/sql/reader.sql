/* iostall:drill_reader */
-- Statements of the user are run by a role that reads everything and may do nothing else: a view, a function and an index over an
-- expression run code of their owner, and to a superuser that would be a program on this host.
DO $$
DECLARE
    named text;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'iostall_check') THEN
        CREATE ROLE iostall_check;
    END IF;
    ALTER ROLE iostall_check LOGIN BYPASSRLS NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION;
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO iostall_check', current_database());
    IF current_setting('server_version_num')::integer >= 140000 THEN
        GRANT pg_read_all_data TO iostall_check;
    ELSE
        FOR named IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_(toast|temp)' LOOP
            EXECUTE format('GRANT USAGE ON SCHEMA %I TO iostall_check', named);
            EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO iostall_check', named);
            EXECUTE format('GRANT SELECT ON ALL SEQUENCES IN SCHEMA %I TO iostall_check', named);
        END LOOP;
    END IF;
END
$$
