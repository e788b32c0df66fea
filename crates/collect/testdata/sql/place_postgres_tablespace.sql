/* iostall:place_postgres_tablespace */
CREATE TABLESPACE fast LOCATION ':place'
