/* iostall:backup_stop */
-- Without waiting for the archive: the log that the backup needs goes into the backup itself.
SELECT lsn::text AS lsn, labelfile AS label, spcmapfile AS tablespace_map FROM pg_backup_stop(false)
