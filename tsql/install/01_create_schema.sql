/* iostall:create_schema */
-- Runs in the database that shall hold the history; every script here may be run again.
-- SQL Server 2008 R2 SP1 and later, Managed Instance included. Not for Azure SQL Database: watch that from outside.
SET NOCOUNT ON;

IF CONVERT(INT, SERVERPROPERTY(N'EngineEdition')) IN (5, 6, 11, 12)
    RAISERROR (N'Azure SQL Database, Synapse and Fabric have not the views that this needs: iostall collect watches them from outside.', 16, 1);
ELSE IF DB_ID() <= 4
    RAISERROR (N'iostall needs a database of its own: CREATE DATABASE iostall, then run this there.', 16, 1);
ELSE IF SCHEMA_ID(N'iostall') IS NULL
    EXEC (N'/* iostall:create_schema */ CREATE SCHEMA iostall AUTHORIZATION dbo');
GO

/* iostall:create_installation */
-- Which version was installed when. Nothing is ever deleted from it.
IF SCHEMA_ID(N'iostall') IS NOT NULL AND OBJECT_ID(N'iostall.installation', N'U') IS NULL
    CREATE TABLE iostall.installation (
        installation_id BIGINT IDENTITY (1, 1) NOT NULL CONSTRAINT installation_pk PRIMARY KEY,
        version NVARCHAR(20) NOT NULL,
        installed_utc DATETIME2(3) NOT NULL CONSTRAINT installation_installed_utc DEFAULT (SYSUTCDATETIME()),
        installed_by NVARCHAR(128) NOT NULL CONSTRAINT installation_installed_by DEFAULT (ORIGINAL_LOGIN())
    );
GO
