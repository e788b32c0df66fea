/* iostall:place */
-- Where the server's own files are, and the process that answers: whether that is one of this host's.
SELECT pg_backend_pid()    AS backend,
       current_database()  AS database,
       CASE WHEN pg_has_role('pg_read_all_settings', 'USAGE')
            THEN current_setting('data_directory') END AS data_directory
