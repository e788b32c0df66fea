/* iostall:settings_volumes */
SET LOCK_TIMEOUT 1000;
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
SELECT N'volume ' + u.volume_mount_point                               AS subject,
       v.name,
       v.value
FROM (SELECT DISTINCT s.volume_mount_point, s.total_bytes, s.available_bytes
      FROM sys.master_files AS f
      CROSS APPLY sys.dm_os_volume_stats(f.database_id, f.file_id) AS s) AS u
CROSS APPLY (VALUES
    (N'free bytes', CONVERT(nvarchar(30), u.available_bytes)),
    (N'size bytes', CONVERT(nvarchar(30), u.total_bytes))
) AS v (name, value)
WHERE u.volume_mount_point <> N'';
