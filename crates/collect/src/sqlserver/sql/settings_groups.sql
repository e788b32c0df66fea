/* iostall:settings_groups */
-- The part that this server has in its availability groups: from 2012 on.
SET LOCK_TIMEOUT 1000;
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
SELECT N'group ' + g.name                                              AS subject,
       N'role'                                                         AS name,
       LOWER(CONVERT(nvarchar(60), s.role_desc))                       AS value
FROM sys.dm_hadr_availability_replica_states AS s
INNER JOIN sys.availability_groups AS g ON g.group_id = s.group_id
WHERE s.is_local = 1;
