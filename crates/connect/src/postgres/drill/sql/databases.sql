/* iostall:drill_databases */
-- A limit of -2 marks a database that was being dropped when the server crashed.
SELECT datname::text                          AS name,
       datallowconn AND datconnlimit <> -2    AS is_open
FROM pg_database
ORDER BY datname
