/* iostall:timescaledb_find */
-- The extension in this database, where its functions are, and whether its licence has compression.
SELECT e.extversion::text AS version,
       quote_ident(n.nspname) AS schema,
       coalesce(current_setting('timescaledb.license', true), '') = 'timescale' AS compresses
FROM pg_extension AS e
JOIN pg_namespace AS n ON n.oid = e.extnamespace
WHERE e.extname = 'timescaledb';
