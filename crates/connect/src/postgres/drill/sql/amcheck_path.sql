/* iostall:drill_amcheck_path */
-- The extension may have been there already, in any schema.
SELECT set_config('search_path', quote_ident(n.nspname), false) AS path
FROM pg_extension AS e
     JOIN pg_namespace AS n ON n.oid = e.extnamespace
WHERE e.extname = 'amcheck'
