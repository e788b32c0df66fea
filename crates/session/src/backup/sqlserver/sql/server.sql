/* iostall:backup_server */
-- @P1: the database. One row, also where it does not exist.
SELECT CONVERT(bigint, @@SPID)                                                                AS session_id,
       CONVERT(bigint, PARSENAME(CONVERT(nvarchar(64), SERVERPROPERTY('ProductVersion')), 4)) AS version,
       CONVERT(bigint, PARSENAME(CONVERT(nvarchar(64), SERVERPROPERTY('ProductVersion')), 2)) AS build,
       CONVERT(bigint, SERVERPROPERTY('EngineEdition'))                                       AS engine_edition,
       CONVERT(nvarchar(128), SERVERPROPERTY('Edition'))                                      AS edition,
       CONVERT(bigint, d.recovery_model)                                                      AS recovery_model,
       CONVERT(nvarchar(60), d.state_desc)                                                    AS state,
       CONVERT(bigint, d.is_encrypted)                                                        AS is_encrypted,
       CONVERT(bigint, CASE WHEN d.source_database_id IS NULL THEN 0 ELSE 1 END)              AS is_snapshot
FROM (SELECT 1 AS one) AS o
LEFT JOIN sys.databases AS d ON d.name = @P1;
