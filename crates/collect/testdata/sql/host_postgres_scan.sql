/* iostall:host_postgres_scan */
SELECT count(*) FROM accounts WHERE filler <> '';
