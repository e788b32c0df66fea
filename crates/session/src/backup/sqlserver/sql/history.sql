/* iostall:backup_history */
-- @P1: the newest entry before the backup began. @P2: the database. @P3: the first device.
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
WHERE b.backup_set_id > @P1 AND b.database_name = @P2
  AND EXISTS (SELECT 1 FROM msdb.dbo.backupmediafamily AS f
              WHERE f.media_set_id = b.media_set_id AND f.physical_device_name = @P3)
ORDER BY b.backup_set_id DESC;
