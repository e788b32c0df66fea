/* iostall:sign_procedures */
-- SQL Server 2012 and later, as a sysadmin, in the database with the schema iostall. Run it again after each install:
-- a procedure that is altered loses its signature.
-- Afterwards a member of iostall_sampler can take samples without VIEW SERVER STATE: the procedures carry the right, and
-- lend it to nothing else. The certificate's private key is removed once it has signed, so nobody can sign more.
SET NOCOUNT ON;
DECLARE @sql NVARCHAR(MAX), @password NVARCHAR(80), @right NVARCHAR(60);

-- What an earlier signing left.
SET @sql = (
    SELECT N'DROP SIGNATURE FROM iostall.' + QUOTENAME(o.name) + N' BY CERTIFICATE iostall_collector; '
    FROM sys.crypt_properties AS p
    INNER JOIN sys.objects AS o ON p.major_id = o.object_id
    INNER JOIN sys.certificates AS c ON p.thumbprint = c.thumbprint
    WHERE c.name = N'iostall_collector'
    FOR XML PATH (N''), TYPE
).value(N'.', N'NVARCHAR(MAX)');
IF @sql IS NOT NULL
    EXEC sys.sp_executesql @sql;
IF CERT_ID(N'iostall_collector') IS NOT NULL
    EXEC (N'DROP CERTIFICATE iostall_collector;');
IF SUSER_ID(N'iostall_collector') IS NOT NULL
    EXEC (N'DROP LOGIN iostall_collector;');
EXEC (N'USE master; IF CERT_ID(N''iostall_collector'') IS NOT NULL DROP CERTIFICATE iostall_collector;');

-- A password that nobody learns, for as long as this takes.
SET @password = CONVERT(NVARCHAR(36), NEWID()) + N'aZ9!' + CONVERT(NVARCHAR(36), NEWID());
SET
    @sql = N'CREATE CERTIFICATE iostall_collector ENCRYPTION BY PASSWORD = ''' + @password
    + N''' WITH SUBJECT = ''iostall reads I/O counters'', EXPIRY_DATE = ''20991231'';
    ADD SIGNATURE TO iostall.take_sample BY CERTIFICATE iostall_collector WITH PASSWORD = ''' + @password + N''';
    ADD SIGNATURE TO iostall.run_samples BY CERTIFICATE iostall_collector WITH PASSWORD = ''' + @password + N''';
    ALTER CERTIFICATE iostall_collector REMOVE PRIVATE KEY;';
EXEC sys.sp_executesql @sql;

-- Its public half in master, and a login that is made of it: nobody can log in as that.
SET @right = CASE
    WHEN CONVERT(INT, PARSENAME(CONVERT(NVARCHAR(64), SERVERPROPERTY(N'ProductVersion')), 4)) >= 16
        THEN N'VIEW SERVER PERFORMANCE STATE'
    ELSE N'VIEW SERVER STATE'
END;
SET
    @sql = N'USE master;
    CREATE CERTIFICATE iostall_collector FROM BINARY = '
    + CONVERT(NVARCHAR(MAX), CERTENCODED(CERT_ID(N'iostall_collector')), 1) + N';
    CREATE LOGIN iostall_collector FROM CERTIFICATE iostall_collector;
    GRANT ' + @right + N' TO iostall_collector;
    GRANT VIEW ANY DEFINITION TO iostall_collector;';
EXEC sys.sp_executesql @sql;
GO
