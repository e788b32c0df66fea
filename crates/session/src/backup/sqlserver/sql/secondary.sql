/* iostall:backup_secondary */
-- @P1: the database. Since 2012: whether it is a secondary replica of an availability group here.
SELECT CONVERT(bigint, COUNT(*)) AS replicas
FROM sys.dm_hadr_database_replica_states AS s
INNER JOIN sys.dm_hadr_availability_replica_states AS r
    ON r.replica_id = s.replica_id
WHERE s.is_local = 1 AND s.database_id = DB_ID(@P1) AND r.role = 2;
