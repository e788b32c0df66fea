/* iostall:backup_position */
-- Declared before the backup: @newest, @database, @device, @leaf, @type and @copy_only. Where the backup that was made is in its media
-- set, known by what was written and not by when: a log backup may have ended in between.
DECLARE @position int;
SELECT TOP (1) @position = b.position
FROM msdb.dbo.backupset AS b
INNER JOIN msdb.dbo.backupmediafamily AS f ON f.media_set_id = b.media_set_id
WHERE b.backup_set_id > @newest AND b.database_name = @database AND b.type = @type AND b.is_copy_only = @copy_only
  AND RIGHT(f.physical_device_name, LEN(@leaf)) = @leaf
ORDER BY CASE WHEN f.physical_device_name = @device THEN 0 ELSE 1 END, b.backup_set_id DESC;
IF @position IS NULL
    RAISERROR (N'NOT READ BACK: msdb.dbo.backupset has no entry of the backup that was made.', 16, 1);
