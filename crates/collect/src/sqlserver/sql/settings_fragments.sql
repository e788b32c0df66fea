/* iostall:settings_fragments */
-- Virtual log files: from 2016 SP2 on. A secondary that cannot be read is ONLINE, and one of them would fail the statement for all: each
-- database is asked by itself, and one that does not answer has no row.
SET NOCOUNT ON;
SET LOCK_TIMEOUT 1000;
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
DECLARE @found TABLE (name sysname NOT NULL, fragments bigint NOT NULL);
DECLARE @name sysname, @id int;
DECLARE databases CURSOR LOCAL FAST_FORWARD FOR
    SELECT d.name, d.database_id
    FROM sys.databases AS d
    WHERE d.state = 0 AND d.source_database_id IS NULL;
OPEN databases;
FETCH NEXT FROM databases INTO @name, @id;
WHILE @@FETCH_STATUS = 0
BEGIN
    BEGIN TRY
        INSERT INTO @found (name, fragments)
        SELECT @name, COUNT_BIG(l.vlf_begin_offset)
        FROM sys.dm_db_log_info(@id) AS l;
    END TRY
    BEGIN CATCH
        -- Only that one stays unknown, unless none can be asked, as before 2016 SP2.
        IF ERROR_NUMBER() NOT IN (976, 983, 945, 924, 1222)
            RAISERROR (N'The fragments of logs cannot be read.', 16, 1);
    END CATCH;
    FETCH NEXT FROM databases INTO @name, @id;
END;
CLOSE databases;
DEALLOCATE databases;
SELECT N'log ' + f.name                                                AS subject,
       N'fragments'                                                    AS name,
       CONVERT(nvarchar(20), f.fragments)                              AS value
FROM @found AS f;
