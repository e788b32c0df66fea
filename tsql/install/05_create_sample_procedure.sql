/* iostall:create_sample_procedure */
IF OBJECT_ID(N'iostall.take_sample', N'P') IS NULL
    EXEC (N'CREATE PROCEDURE iostall.take_sample AS RETURN 0');
GO
-- Reads the counters of every file once and keeps them.
--   @database, @file  patterns of LIKE for the database's name and the file's path; NULL is all
--   @run_id           the run it belongs to; NULL is none
--   @sample_id        the number of the sample
-- Samples are taken one at a time, whoever asks: so the numbers of samples and the computer's ticks rise together.
ALTER PROCEDURE iostall.take_sample
    @database NVARCHAR(128) = NULL,
    @file NVARCHAR(260) = NULL,
    @run_id BIGINT = NULL,
    @sample_id BIGINT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    -- Somebody's setting must not leave a transaction open behind this.
    SET IMPLICIT_TRANSACTIONS OFF;
    -- Whoever samples gives way: nothing of anybody else ends for it.
    SET DEADLOCK_PRIORITY LOW;

    DECLARE
        @version INT = CONVERT(INT, PARSENAME(CONVERT(NVARCHAR(64), SERVERPROPERTY(N'ProductVersion')), 4)),
        @instance NVARCHAR(256) = ISNULL(CONVERT(NVARCHAR(256), SERVERPROPERTY(N'ServerName')), N'') + N'/',
        @read_counters NVARCHAR(MAX), @queued NVARCHAR(200), @lock INT, @epoch_id BIGINT,
        @message NVARCHAR(2048), @severity INT;

    -- A roll-back here would take the caller's work with it, and a lock would be held as long as the caller likes.
    IF @@TRANCOUNT > 0
        BEGIN
            RAISERROR (N'iostall.take_sample must not be called inside a transaction.', 16, 1);
            RETURN 1;
        END;

    CREATE TABLE #counter (
        database_id INT NOT NULL,
        file_id INT NOT NULL,
        utc DATETIME2(3) NOT NULL,
        ticks_ms BIGINT NOT NULL,
        start_ticks_ms BIGINT NOT NULL,
        reads BIGINT NOT NULL,
        read_bytes BIGINT NOT NULL,
        read_stall_ms BIGINT NOT NULL,
        writes BIGINT NOT NULL,
        write_bytes BIGINT NOT NULL,
        write_stall_ms BIGINT NOT NULL,
        queued_read_stall_ms BIGINT NULL,
        queued_write_stall_ms BIGINT NULL,
        size_bytes BIGINT NOT NULL,
        handle BIGINT NULL,
        PRIMARY KEY (database_id, file_id)
    );
    CREATE TABLE #seen (
        database_id INT NOT NULL,
        file_id INT NOT NULL,
        identity_text NVARCHAR(200) COLLATE Latin1_General_BIN2 NOT NULL PRIMARY KEY,
        database_name NVARCHAR(128) COLLATE Latin1_General_BIN2 NOT NULL,
        logical_name NVARCHAR(128) COLLATE Latin1_General_BIN2 NULL,
        physical_name NVARCHAR(260) COLLATE Latin1_General_BIN2 NOT NULL,
        type_name NVARCHAR(60) COLLATE Latin1_General_BIN2 NULL,
        age_ms BIGINT NULL
    );

    BEGIN TRY
        BEGIN TRANSACTION;

        EXEC @lock = sys.sp_getapplock
            @Resource = N'iostall.take_sample', @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = 60000;
        IF @lock < 0
            RAISERROR (N'Another sample has been under way for a minute; this one is left out.', 16, 1);

        -- The counters alone, in one statement with the clock they belong to. The stalls of the resource governor
        -- came with version 12, and a column that is not there cannot be named.
        SET @queued = CASE
            WHEN @version >= 12 THEN N'v.io_stall_queued_read_ms, v.io_stall_queued_write_ms'
            ELSE N'CONVERT(BIGINT, NULL), CONVERT(BIGINT, NULL)'
        END;
        SET @read_counters = N'/* iostall:read_counters */
            SELECT v.database_id, v.file_id, SYSUTCDATETIME(), i.ms_ticks, i.sqlserver_start_time_ms_ticks,
                v.num_of_reads, v.num_of_bytes_read, v.io_stall_read_ms,
                v.num_of_writes, v.num_of_bytes_written, v.io_stall_write_ms, ' + @queued + N',
                v.size_on_disk_bytes, CONVERT(BIGINT, CONVERT(BINARY(8), v.file_handle))
            FROM sys.dm_io_virtual_file_stats(NULL, NULL) AS v
            CROSS JOIN sys.dm_os_sys_info AS i';
        INSERT INTO #counter (
            database_id, file_id, utc, ticks_ms, start_ticks_ms, reads, read_bytes, read_stall_ms,
            writes, write_bytes, write_stall_ms, queued_read_stall_ms, queued_write_stall_ms, size_bytes, handle
        )
        EXEC sys.sp_executesql @read_counters;
        IF NOT EXISTS (SELECT 1 FROM #counter)
            RAISERROR (N'sys.dm_io_virtual_file_stats returned no row: the login may lack VIEW SERVER STATE.', 16, 1);

        -- What the files are. CREATE and RESTORE DATABASE hold locks in master for minutes: what is not committed yet is good enough for a
        -- name, and nothing waits longer than a second. LEFT JOIN: a file that master does not list still counts. tempdb is made anew at each
        -- start, and its files are the same ones: the start is an epoch.
        /* iostall:read_names */
        SET LOCK_TIMEOUT 1000;
        INSERT INTO #seen (
            database_id, file_id, identity_text, database_name, logical_name, physical_name, type_name, age_ms
        )
        SELECT
            c.database_id, c.file_id,
            CONVERT(NVARCHAR(12), c.database_id) + N'/' + CONVERT(NVARCHAR(12), c.file_id)
            + N'/' + ISNULL(CONVERT(NVARCHAR(36), f.file_guid), N'')
            + N'/' + CASE
                WHEN c.database_id = 2 THEN N''
                ELSE
                    ISNULL(CONVERT(NVARCHAR(30), d.create_date, 126), N'')
                    + N'/' + ISNULL(CONVERT(NVARCHAR(36), d.service_broker_guid), N'')
            END,
            ISNULL(d.name, N'database ' + CONVERT(NVARCHAR(12), c.database_id)),
            f.name,
            ISNULL(f.physical_name, N'file ' + CONVERT(NVARCHAR(12), c.file_id)),
            f.type_desc,
            -- Nested: of two conditions side by side the server may evaluate the second first, and seconds overflow before 1958.
            CASE
                WHEN DATEDIFF(DAY, d.create_date, GETDATE()) BETWEEN 0 AND 20000
                    THEN
                        CASE
                            WHEN DATEDIFF(SECOND, d.create_date, GETDATE()) >= 0
                                THEN CONVERT(BIGINT, DATEDIFF(SECOND, d.create_date, GETDATE())) * 1000
                        END
            END
        FROM #counter AS c
        LEFT JOIN sys.master_files AS f WITH (READUNCOMMITTED) ON c.database_id = f.database_id AND c.file_id = f.file_id
        LEFT JOIN sys.databases AS d WITH (READUNCOMMITTED) ON c.database_id = d.database_id
        WHERE
            (@database IS NULL OR d.name COLLATE DATABASE_DEFAULT LIKE @database)
            AND (@file IS NULL OR f.physical_name COLLATE DATABASE_DEFAULT LIKE @file);
        SET LOCK_TIMEOUT -1;
        IF NOT EXISTS (SELECT 1 FROM #seen)
            RAISERROR (N'No file matches @database and @file.', 16, 1);

        SELECT @epoch_id = e.epoch_id
        FROM iostall.epoch AS e
        WHERE
            e.instance_name = @instance AND e.version = @version
            AND e.start_ticks_ms = (SELECT MAX(c.start_ticks_ms) FROM #counter AS c);
        IF @epoch_id IS NULL
            BEGIN
                INSERT INTO iostall.epoch (instance_name, version, start_ticks_ms, first_seen_utc)
                SELECT @instance, @version, MAX(c.start_ticks_ms), MAX(c.utc) FROM #counter AS c;
                SET @epoch_id = SCOPE_IDENTITY();
            END;

        /* iostall:add_sample */
        INSERT INTO iostall.sample (
            run_id, epoch_id, taken_utc, ticks_ms, files, filter_text, pending_count, pending_ms_max
        )
        SELECT
            @run_id, @epoch_id, MAX(c.utc), MAX(c.ticks_ms), (SELECT COUNT(*) FROM #seen),
            NULLIF(ISNULL(N'database LIKE ' + @database + N' ', N'') + ISNULL(N'file LIKE ' + @file, N''), N''),
            (SELECT COUNT(*) FROM sys.dm_io_pending_io_requests AS q WHERE q.io_type = N'disk'),
            (SELECT MAX(q.io_pending_ms_ticks) FROM sys.dm_io_pending_io_requests AS q WHERE q.io_type = N'disk')
        FROM #counter AS c;
        SET @sample_id = SCOPE_IDENTITY();

        /* iostall:add_files */
        INSERT INTO iostall.data_file (
            identity_text, database_id, file_id, database_name, logical_name, physical_name, type_name, volume,
            first_sample_id, first_age_ms, last_sample_id
        )
        SELECT
            n.identity_text, n.database_id, n.file_id, n.database_name, n.logical_name, n.physical_name, n.type_name,
            NULL, @sample_id, n.age_ms, @sample_id
        FROM #seen AS n
        WHERE NOT EXISTS (SELECT 1 FROM iostall.data_file AS k WHERE k.identity_text = n.identity_text);

        -- Files are renamed and moved; the volume is asked for again then.
        /* iostall:rename_files */
        UPDATE k
        SET
            database_name = n.database_name, logical_name = n.logical_name, physical_name = n.physical_name,
            type_name = n.type_name, volume = NULL
        FROM iostall.data_file AS k
        INNER JOIN #seen AS n ON k.identity_text = n.identity_text
        WHERE
            k.database_name <> n.database_name OR k.physical_name <> n.physical_name
            OR ISNULL(k.logical_name, N'') <> ISNULL(n.logical_name, N'');

        /* iostall:add_file_samples */
        INSERT INTO iostall.file_sample (
            sample_id, file_key, previous_sample_id, reads, read_bytes, read_stall_ms, writes, write_bytes,
            write_stall_ms, queued_read_stall_ms, queued_write_stall_ms, size_bytes, handle
        )
        SELECT
            @sample_id, k.file_key, NULLIF(k.last_sample_id, @sample_id), c.reads, c.read_bytes, c.read_stall_ms,
            c.writes, c.write_bytes, c.write_stall_ms, c.queued_read_stall_ms, c.queued_write_stall_ms,
            c.size_bytes, c.handle
        FROM #seen AS n
        INNER JOIN #counter AS c ON n.database_id = c.database_id AND n.file_id = c.file_id
        INNER JOIN iostall.data_file AS k ON n.identity_text = k.identity_text;

        UPDATE k
        SET last_sample_id = @sample_id
        FROM iostall.data_file AS k
        INNER JOIN #seen AS n ON k.identity_text = n.identity_text;

        UPDATE iostall.run
        SET samples = samples + 1
        WHERE run_id = @run_id;

        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        -- Read before the roll-back; raised again as RAISERROR, because THROW is younger than 2008 R2.
        SELECT @message = ERROR_MESSAGE(), @severity = ERROR_SEVERITY();
        IF XACT_STATE() <> 0
            ROLLBACK TRANSACTION;
        SET @sample_id = NULL;
        IF @severity NOT BETWEEN 11 AND 16
            SET @severity = 16;
        RAISERROR (N'%s', @severity, 1, @message);
        RETURN 1;
    END CATCH;

    -- Where each file lies, after the commit: the server waits for a volume that hangs, and then nobody else waits for this sample. A file whose
    -- volume did not answer, or has no name, is asked for again each time.
    BEGIN TRY
        /* iostall:find_volumes */
        UPDATE k
        SET volume = v.volume_mount_point
        FROM iostall.data_file AS k
        INNER JOIN #seen AS n ON k.identity_text = n.identity_text
        OUTER APPLY sys.dm_os_volume_stats(n.database_id, n.file_id) AS v
        WHERE k.volume IS NULL AND v.volume_mount_point <> N'';
    END TRY
    BEGIN CATCH
        -- The sample is kept; the volume stays unknown until the next one.
        SET @message = ERROR_MESSAGE();
    END CATCH;
    RETURN 0;
END;
GO
