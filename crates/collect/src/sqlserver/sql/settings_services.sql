/* iostall:settings_services */
-- From 2012 SP4 and 2016 SP1 on. The service of the engine is the one that may initialise files.
SELECT N'service'                                                      AS subject,
       N'instant file initialization'                                  AS name,
       CASE s.instant_file_initialization_enabled WHEN N'Y' THEN N'on' ELSE N'off' END AS value
FROM sys.dm_server_services AS s
WHERE s.servicename LIKE N'SQL Server (%';
