/* iostall:place */
-- Where the server's own files are, and the process that answers: whether that is one of this host's. Who may read all
-- settings sees the data directory; for others there may be the function of the printed grants. Only one that a
-- superuser made is called, and never by those who need it not: a name can be taken by anybody.
SELECT pg_backend_pid()                                      AS backend,
       CASE WHEN e.is_raw THEN convert_to(current_database(), 'SQL_ASCII')
            ELSE textsend(current_database()) END            AS database,
       CASE WHEN s.sees_all AND e.is_raw THEN convert_to(current_setting('data_directory'), 'SQL_ASCII')
            WHEN s.sees_all THEN textsend(current_setting('data_directory')) END AS directory,
       NOT s.sees_all AND EXISTS (
         SELECT
         FROM pg_proc AS p
         JOIN pg_namespace AS n ON n.oid = p.pronamespace
         JOIN pg_roles AS r ON r.oid = p.proowner
         WHERE n.nspname = 'iostall' AND p.proname = 'data_directory' AND p.pronargs = 0
           AND p.prosecdef AND r.rolsuper
           AND has_schema_privilege(n.oid, 'USAGE') AND has_function_privilege(p.oid, 'EXECUTE')
       )                                                     AS has_function
FROM (SELECT getdatabaseencoding() = 'SQL_ASCII') AS e(is_raw),
     (SELECT pg_has_role('pg_read_all_settings', 'USAGE')) AS s(sees_all)
