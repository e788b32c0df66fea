/* iostall:volumes */
-- From 2012. On which volume each file lies, and what the volume is called by the machine, which does not change with its drive
-- letter. The server asks the system about each file, and waits where a volume hangs.
SELECT CONVERT(nvarchar(12), v.database_id) + N'/' + CONVERT(nvarchar(12), v.file_id) AS [file],
       NULLIF(s.volume_mount_point, N'')                                            AS volume,
       NULLIF(s.volume_id, N'')                                                     AS volume_id,
       CONVERT(nvarchar(128), SERVERPROPERTY('ComputerNamePhysicalNetBIOS'))        AS machine
FROM sys.dm_io_virtual_file_stats(NULL, NULL) AS v
OUTER APPLY sys.dm_os_volume_stats(v.database_id, v.file_id) AS s;
