/* iostall:uninstall */
-- Removes procedures, views, roles, jobs and the signing certificate. The history stays, in its tables, and a later
-- install takes it up again; unless @history says, in exactly these words: delete all history
SET NOCOUNT ON;
DECLARE @history NVARCHAR(40) = N'keep', @sql NVARCHAR(MAX);

EXEC (N'IF OBJECT_ID(N''iostall.stop_run'', N''P'') IS NOT NULL EXEC iostall.stop_run;');

-- Jobs and the certificate's login belong to the server: only who may see them may remove them.
IF HAS_DBACCESS(N'msdb') = 1 AND IS_SRVROLEMEMBER(N'sysadmin') = 1
    BEGIN
        IF EXISTS (SELECT 1 FROM msdb.dbo.sysjobs AS j WHERE j.name = N'iostall sample')
            EXEC msdb.dbo.sp_delete_job @job_name = N'iostall sample';
        IF EXISTS (SELECT 1 FROM msdb.dbo.sysjobs AS j WHERE j.name = N'iostall roll up and purge')
            EXEC msdb.dbo.sp_delete_job @job_name = N'iostall roll up and purge';
        IF SUSER_ID(N'iostall_collector') IS NOT NULL
            EXEC (N'DROP LOGIN iostall_collector;');
        EXEC (N'USE master; IF CERT_ID(N''iostall_collector'') IS NOT NULL DROP CERTIFICATE iostall_collector;');
    END;

-- Procedures before what they use; signatures go with them.
SELECT
    @sql = ISNULL(@sql, N'')
    + CASE o.type WHEN 'P' THEN N'DROP PROCEDURE iostall.' ELSE N'DROP VIEW iostall.' END + QUOTENAME(o.name) + N'; '
FROM sys.objects AS o
WHERE o.schema_id = SCHEMA_ID(N'iostall') AND o.type IN ('P', 'V')
ORDER BY o.type, o.name;
IF @sql IS NOT NULL
    EXEC sys.sp_executesql @sql;
IF CERT_ID(N'iostall_collector') IS NOT NULL
    EXEC (N'DROP CERTIFICATE iostall_collector;');

-- The roles go where they have no members: somebody else's membership is not ours to end.
SET @sql = NULL;
SELECT @sql = ISNULL(@sql, N'') + N'DROP ROLE ' + QUOTENAME(p.name) + N'; '
FROM sys.database_principals AS p
WHERE
    p.type = 'R' AND p.name IN (N'iostall_reader', N'iostall_sampler')
    AND NOT EXISTS (SELECT 1 FROM sys.database_role_members AS m WHERE m.role_principal_id = p.principal_id);
IF @sql IS NOT NULL
    EXEC sys.sp_executesql @sql;

IF @history = N'delete all history'
    BEGIN
        SET @sql = NULL;
        -- Those that refer to others come first.
        SELECT @sql = ISNULL(@sql, N'') + N'DROP TABLE iostall.' + QUOTENAME(t.name) + N'; '
        FROM sys.tables AS t
        WHERE t.schema_id = SCHEMA_ID(N'iostall')
        ORDER BY
            CASE t.name
                WHEN N'file_sample' THEN 1 WHEN N'roll_up' THEN 2 WHEN N'sample' THEN 3 ELSE 4
            END;
        IF @sql IS NOT NULL
            EXEC sys.sp_executesql @sql;
        IF SCHEMA_ID(N'iostall') IS NOT NULL
            EXEC (N'DROP SCHEMA iostall');
    END;
GO
