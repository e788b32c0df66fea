/* iostall:backup_start */
-- Not exclusive: if this session ends, so does the backup.
SELECT pg_start_backup($1, $2, false)::text AS lsn
