/* iostall:tune_past */
-- @P1: the database. How long its newest full backup took, which says how long a trial may take.
SELECT TOP (1)
       CONVERT(bigint, DATEDIFF(SECOND, b.backup_start_date, b.backup_finish_date)) AS seconds,
       CONVERT(bigint, b.backup_size)                                               AS size_bytes
FROM msdb.dbo.backupset AS b
WHERE b.database_name = @P1 AND b.type = 'D'
ORDER BY b.backup_set_id DESC;
