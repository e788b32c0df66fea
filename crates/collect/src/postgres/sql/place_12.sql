/* iostall:place */
-- Where the server's own files are, and the process that answers: whether that is one of this host's.
SELECT pg_backend_pid()                                      AS backend,
       CASE WHEN getdatabaseencoding() = 'SQL_ASCII' THEN convert_to(current_database(), 'SQL_ASCII')
            ELSE textsend(current_database()) END            AS database,
       pg_has_role('pg_read_all_settings', 'USAGE')          AS sees_directory
