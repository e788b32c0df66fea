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

-- Signatures go with their procedures.
SET @sql = (
    SELECT
        CASE o.type WHEN 'P' THEN N'DROP PROCEDURE iostall.' ELSE N'DROP VIEW iostall.' END + QUOTENAME(o.name) + N'; '
    FROM sys.objects AS o
    WHERE o.schema_id = SCHEMA_ID(N'iostall') AND o.type IN ('P', 'V')
    FOR XML PATH (N''), TYPE
).value(N'.', N'NVARCHAR(MAX)');
IF @sql IS NOT NULL
    EXEC sys.sp_executesql @sql;
IF CERT_ID(N'iostall_collector') IS NOT NULL
    EXEC (N'DROP CERTIFICATE iostall_collector;');

-- The roles go where they have no members: somebody else's membership is not ours to end.
SET @sql = (
    SELECT N'DROP ROLE ' + QUOTENAME(p.name) + N'; '
    FROM sys.database_principals AS p
    WHERE
        p.type = 'R' AND p.name IN (N'iostall_reader', N'iostall_sampler')
        AND NOT EXISTS (SELECT 1 FROM sys.database_role_members AS m WHERE m.role_principal_id = p.principal_id)
    FOR XML PATH (N''), TYPE
).value(N'.', N'NVARCHAR(MAX)');
IF @sql IS NOT NULL
    EXEC sys.sp_executesql @sql;

IF @history = N'delete all history'
    BEGIN
        -- Those that refer to others come first.
        IF OBJECT_ID(N'iostall.file_sample', N'U') IS NOT NULL
            DROP TABLE iostall.file_sample;
        IF OBJECT_ID(N'iostall.roll_up', N'U') IS NOT NULL
            DROP TABLE iostall.roll_up;
        IF OBJECT_ID(N'iostall.rolled_up', N'U') IS NOT NULL
            DROP TABLE iostall.rolled_up;
        IF OBJECT_ID(N'iostall.sample', N'U') IS NOT NULL
            DROP TABLE iostall.sample;
        IF OBJECT_ID(N'iostall.data_file', N'U') IS NOT NULL
            DROP TABLE iostall.data_file;
        IF OBJECT_ID(N'iostall.epoch', N'U') IS NOT NULL
            DROP TABLE iostall.epoch;
        IF OBJECT_ID(N'iostall.event', N'U') IS NOT NULL
            DROP TABLE iostall.event;
        IF OBJECT_ID(N'iostall.run', N'U') IS NOT NULL
            DROP TABLE iostall.run;
        IF OBJECT_ID(N'iostall.installation', N'U') IS NOT NULL
            DROP TABLE iostall.installation;
        IF SCHEMA_ID(N'iostall') IS NOT NULL
            EXEC (N'DROP SCHEMA iostall');
    END;
GO
