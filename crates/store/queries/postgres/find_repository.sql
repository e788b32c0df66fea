/* iostall:find_repository */
SELECT id::text, schema_version FROM iostall.repository;
