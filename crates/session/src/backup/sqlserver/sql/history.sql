/* iostall:backup_history */
-- @P1: the newest entry before the backup began. @P2: the database. @P3: the first device as it was typed, and @P4 its name without a
-- directory: msdb has the whole path, with one kind of slash. @P5: the type of the backup. @P6: whether it is COPY_ONLY.
SELECT TOP (1)
       CONVERT(bigint, b.backup_set_id)                                             AS backup_set_id,
       CONVERT(bigint, b.position)                                                  AS position,
       CONVERT(bigint, b.backup_size)                                               AS size_bytes,
       CONVERT(bigint, b.compressed_backup_size)                                    AS compressed_bytes,
       CONVERT(bigint, DATEDIFF(SECOND, b.backup_start_date, b.backup_finish_date)) AS seconds,
       CONVERT(nvarchar(30), b.backup_finish_date, 126)                             AS finished,
       CONVERT(bigint, b.has_backup_checksums)                                      AS has_checksums,
       CONVERT(bigint, b.is_damaged)                                                AS is_damaged,
       CONVERT(nvarchar(30), b.first_lsn)                                           AS first_lsn,
       CONVERT(nvarchar(30), b.last_lsn)                                            AS last_lsn
FROM msdb.dbo.backupset AS b
INNER JOIN msdb.dbo.backupmediafamily AS f ON f.media_set_id = b.media_set_id
WHERE b.backup_set_id > @P1 AND b.database_name = @P2 AND b.type = @P5 AND b.is_copy_only = @P6
  AND RIGHT(f.physical_device_name, LEN(@P4)) = @P4
ORDER BY CASE WHEN f.physical_device_name = @P3 THEN 0 ELSE 1 END, b.backup_set_id DESC;
