/* iostall:instance */
-- Start and now on the clock of the computer, which knows no summer time: sqlserver_start_time is local.
SELECT CONVERT(bigint, PARSENAME(CONVERT(nvarchar(64), SERVERPROPERTY('ProductVersion')), 4)) AS version,
       CONVERT(bigint, SERVERPROPERTY('EngineEdition'))              AS edition,
       ISNULL(CONVERT(nvarchar(256), SERVERPROPERTY('ServerName')), N'') + N'/'
         + CASE WHEN SERVERPROPERTY('EngineEdition') IN (5, 12) THEN DB_NAME() ELSE N'' END AS instance,
       CONVERT(bigint, SERVERPROPERTY('ProcessID'))                  AS process_id,
       CONVERT(bigint, i.ms_ticks)                                   AS now_ms,
       CONVERT(bigint, i.sqlserver_start_time_ms_ticks)              AS start_ms,
       CONVERT(bigint, ISNULL(HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW ANY DEFINITION'), 0)) AS sees_definitions
FROM sys.dm_os_sys_info AS i;
