/* iostall:backup_start */
SELECT pg_backup_start($1, $2)::text AS lsn
