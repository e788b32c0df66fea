/* iostall:drill_amcheck_schema */
-- The extension may have been there already, in any schema.
SELECT quote_ident(n.nspname) AS schema
FROM pg_extension AS e
     JOIN pg_namespace AS n ON n.oid = e.extnamespace
WHERE e.extname = 'amcheck'
