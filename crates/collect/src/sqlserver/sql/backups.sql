/* iostall:backups */
-- The newest backup of each sort of each database. The columns are the same from 2008 R2 on.
-- msdb has local times; time_zone is their distance from UTC in quarters of an hour, or 127, and then today's distance is taken.
-- Not counted: what went to NUL or is damaged, parts of databases, log backups with COPY_ONLY, what another server made and was
-- restored here, and what is older than the database, since that was of another one with its name.
SET LOCK_TIMEOUT 1000;
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
WITH found AS (
    SELECT d.database_id,
           CASE WHEN b.type = 'L' THEN N'log'
                WHEN b.type = 'I' THEN N'differential'
                WHEN b.is_snapshot = 1 THEN N'snapshot'
                WHEN b.is_copy_only = 1 THEN N'copy-only'
                ELSE N'full' END                                          AS sort,
           CONVERT(bigint, DATEDIFF(DAY, '19700101', b.backup_finish_date)) * 86400
             + DATEDIFF(SECOND, DATEADD(DAY, DATEDIFF(DAY, 0, b.backup_finish_date), 0), b.backup_finish_date)
             - 60 * CASE WHEN b.time_zone BETWEEN -56 AND 56 THEN b.time_zone * 15
                         ELSE DATEPART(TZOFFSET, SYSDATETIMEOFFSET()) END  AS finished_utc_s,
           DATEDIFF(SECOND, b.backup_start_date, b.backup_finish_date)    AS elapsed_s,
           b.backup_size,
           b.compressed_backup_size,
           b.backup_set_id
    FROM msdb.dbo.backupset AS b
    INNER JOIN sys.databases AS d
        ON d.name COLLATE DATABASE_DEFAULT = b.database_name COLLATE DATABASE_DEFAULT
    WHERE b.type IN ('D', 'I', 'L')
      AND (b.type <> 'L' OR b.is_copy_only = 0)
      AND ISNULL(b.is_damaged, 0) = 0
      AND b.backup_finish_date >= d.create_date
      AND b.server_name COLLATE DATABASE_DEFAULT IN (@@SERVERNAME, CONVERT(nvarchar(128), SERVERPROPERTY('ServerName')))
      AND NOT EXISTS (SELECT 1 FROM msdb.dbo.backupmediafamily AS f
                      WHERE f.media_set_id = b.media_set_id
                        AND UPPER(f.physical_device_name) IN (N'NUL', N'NUL:', N'/DEV/NULL'))
),

newest AS (
    SELECT f.*,
           ROW_NUMBER() OVER (PARTITION BY f.database_id, f.sort ORDER BY f.finished_utc_s DESC, f.backup_set_id DESC) AS place
    FROM found AS f
)

SELECT d.name                                                             AS [database],
       s.name,
       CONVERT(nvarchar(12), d.database_id) + N'/' + CONVERT(nvarchar(30), d.create_date, 126) + N'/' + s.name AS [identity],
       CASE WHEN DATEDIFF(DAY, d.create_date, GETDATE()) BETWEEN 0 AND 20000
            THEN CONVERT(bigint, DATEDIFF(SECOND, d.create_date, GETDATE())) * 1000 END AS age_ms,
       n.finished_utc_s                                                   AS backup_finished_utc_s,
       CONVERT(bigint, n.elapsed_s)                                       AS backup_elapsed_s,
       CONVERT(bigint, n.backup_size)                                     AS backup_bytes,
       CONVERT(bigint, n.compressed_backup_size)                          AS backup_stored_bytes
FROM sys.databases AS d
CROSS JOIN (SELECT N'full' AS name UNION ALL SELECT N'copy-only' UNION ALL SELECT N'snapshot'
            UNION ALL SELECT N'differential' UNION ALL SELECT N'log') AS s
LEFT JOIN newest AS n ON n.database_id = d.database_id AND n.sort = s.name AND n.place = 1
-- tempdb, snapshots and what is not online cannot be backed up; SIMPLE (3) has no log backups.
WHERE d.database_id <> 2 AND d.state = 0 AND d.source_database_id IS NULL
  AND (s.name <> N'log' OR d.recovery_model <> 3)
ORDER BY d.database_id, s.name;
