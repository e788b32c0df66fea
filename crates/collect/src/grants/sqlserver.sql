/* iostall:grants_sqlserver */
-- SQL Server 2008 R2 to 2019. Run as an administrator in master; choose a password.
CREATE LOGIN iostall WITH PASSWORD = N'choose-one', CHECK_POLICY = ON;
GRANT VIEW SERVER STATE TO iostall;     -- the counters
GRANT VIEW ANY DEFINITION TO iostall;   -- the names of the files
-- The ages of backups, which everybody may see unless an administrator revoked it:
--   USE msdb;
--   CREATE USER iostall FOR LOGIN iostall;
--   GRANT SELECT ON dbo.backupset TO iostall;
--   GRANT SELECT ON dbo.backupmediafamily TO iostall;
-- SQL Server 2022 and later: the smaller pair instead of VIEW SERVER STATE.
--   GRANT VIEW SERVER PERFORMANCE STATE TO iostall;
--   GRANT VIEW ANY DEFINITION TO iostall;
-- Azure SQL Database, in the database to be watched:
--   CREATE USER iostall WITH PASSWORD = N'choose-one';
--   GRANT VIEW DATABASE STATE TO iostall;
-- In its service levels Basic, S0 and S1, and in elastic pools, in master:
--   CREATE LOGIN iostall WITH PASSWORD = N'choose-one';
--   ALTER SERVER ROLE ##MS_ServerStateReader## ADD MEMBER iostall;
-- An account of Entra ID instead of a password: NAME is that of the user, the group, the application or the managed identity.
-- Azure SQL Database, in the database to be watched:
--   CREATE USER [NAME] FROM EXTERNAL PROVIDER;
--   GRANT VIEW DATABASE STATE TO [NAME];
-- Azure SQL Managed Instance, and SQL Server 2022 with Azure Arc, in master; then grant [NAME] what iostall is granted above:
--   CREATE LOGIN [NAME] FROM EXTERNAL PROVIDER;
-- A Windows account (Kerberos), in master; then the same:
--   CREATE LOGIN [DOMAIN\NAME] FROM WINDOWS;
