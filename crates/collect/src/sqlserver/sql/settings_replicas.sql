/* iostall:settings_replicas */
-- Of each database in an availability group, whether its backups are made here by the group's own preference: from 2012 on.
SET LOCK_TIMEOUT 1000;
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
SELECT N'replica ' + d.name                                            AS subject,
       N'backups'                                                      AS name,
       CASE sys.fn_hadr_backup_is_preferred_replica(d.name) WHEN 1 THEN N'here' ELSE N'elsewhere' END AS value
FROM sys.databases AS d
INNER JOIN sys.dm_hadr_database_replica_states AS s ON s.database_id = d.database_id
WHERE s.is_local = 1;
