/* iostall:drill_amcheck_there */
SELECT count(*) > 0 AS is_there
FROM pg_available_extensions
WHERE name = 'amcheck'
