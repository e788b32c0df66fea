/* iostall:settings_server */
-- The options of sp_configure as they are in use, and what the instance is. The columns are the same from 2008 R2 on.
SELECT N''                                                             AS subject,
       c.name,
       CONVERT(nvarchar(200), c.value_in_use)                          AS value
FROM sys.configurations AS c
UNION ALL
SELECT N'', N'version', CONVERT(nvarchar(200), SERVERPROPERTY('ProductVersion'))
UNION ALL
SELECT N'', N'edition', CONVERT(nvarchar(200), SERVERPROPERTY('Edition'))
UNION ALL
SELECT N'', N'failover cluster', CASE SERVERPROPERTY('IsClustered') WHEN 1 THEN N'yes' WHEN 0 THEN N'no' END
UNION ALL
SELECT N'', N'runs on', CONVERT(nvarchar(200), SERVERPROPERTY('ComputerNamePhysicalNetBIOS'))
UNION ALL
SELECT N'', N'availability groups', CASE SERVERPROPERTY('IsHadrEnabled') WHEN 1 THEN N'yes' WHEN 0 THEN N'no' END;
