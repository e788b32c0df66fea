/* iostall:grants_sqlserver */
-- SQL Server 2008 R2 to 2019. Run as an administrator in master; choose a password.
CREATE LOGIN iostall WITH PASSWORD = N'choose-one', CHECK_POLICY = ON;
GRANT VIEW SERVER STATE TO iostall;     -- the counters
GRANT VIEW ANY DEFINITION TO iostall;   -- the names of the files
-- SQL Server 2022 and later: the smaller pair instead of VIEW SERVER STATE.
--   GRANT VIEW SERVER PERFORMANCE STATE TO iostall;
--   GRANT VIEW ANY DEFINITION TO iostall;
-- Azure SQL Database, in the database to be watched:
--   CREATE USER iostall WITH PASSWORD = N'choose-one';
--   GRANT VIEW DATABASE STATE TO iostall;
