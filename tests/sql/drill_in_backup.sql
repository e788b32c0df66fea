/* iostall:drill_in_backup */
-- The last statement of the session that backs up is still the one that began the backup.
SELECT count(*)
  FROM pg_stat_activity
 WHERE query LIKE '%iostall:backup_start%'
   AND pid <> pg_backend_pid();
