/* iostall:backup_newest */
-- The newest entry of the history before the backup begins: its own has a higher number.
SELECT CONVERT(bigint, ISNULL(MAX(b.backup_set_id), 0)) AS backup_set_id
FROM msdb.dbo.backupset AS b;
