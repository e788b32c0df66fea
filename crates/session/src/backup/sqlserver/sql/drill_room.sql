/* iostall:drill_room */
-- Free space of the volumes that hold files of databases. The server knows of no other.
SELECT DISTINCT s.volume_mount_point           AS volume,
       CONVERT(bigint, s.available_bytes)      AS available_bytes
FROM sys.master_files AS f
CROSS APPLY sys.dm_os_volume_stats(f.database_id, f.file_id) AS s;
