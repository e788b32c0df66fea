/* iostall:create_run_procedures */
IF OBJECT_ID(N'iostall.stop_run', N'P') IS NULL
    EXEC (N'CREATE PROCEDURE iostall.stop_run AS RETURN 0');
GO
-- Asks a run to end at its next beat; NULL asks all of them.
ALTER PROCEDURE iostall.stop_run
    @run_id BIGINT = NULL
AS
BEGIN
    SET NOCOUNT ON;
    /* iostall:stop_run */
    UPDATE iostall.run
    SET stop_requested = 1
    WHERE ended_utc IS NULL AND (@run_id IS NULL OR run_id = @run_id);
END;
GO

IF OBJECT_ID(N'iostall.close_dead_runs', N'P') IS NULL
    EXEC (N'CREATE PROCEDURE iostall.close_dead_runs AS RETURN 0');
GO
-- Closes runs whose session is gone: killed, failed over, restarted. A run that lives holds a lock of its number.
ALTER PROCEDURE iostall.close_dead_runs
AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @dead TABLE (run_id BIGINT NOT NULL PRIMARY KEY, last_utc DATETIME2(3) NOT NULL);

    /* iostall:find_dead_runs */
    INSERT INTO @dead (run_id, last_utc)
    SELECT r.run_id, ISNULL(MAX(s.taken_utc), r.started_utc)
    FROM iostall.run AS r
    LEFT JOIN iostall.sample AS s ON r.run_id = s.run_id
    WHERE
        r.ended_utc IS NULL
        AND APPLOCK_TEST('public', N'iostall.run.' + CONVERT(NVARCHAR(20), r.run_id), 'Exclusive', 'Session') = 1
    GROUP BY r.run_id, r.started_utc;

    INSERT INTO iostall.event (run_id, at_utc, beats, message)
    SELECT d.run_id, d.last_utc, 0, N'the run ended without saying so: its session was killed or the server went down'
    FROM @dead AS d;

    UPDATE r
    SET ended_utc = d.last_utc, end_reason = N'lost'
    FROM iostall.run AS r
    INNER JOIN @dead AS d ON r.run_id = d.run_id;
END;
GO

IF OBJECT_ID(N'iostall.run_samples', N'P') IS NULL
    EXEC (N'CREATE PROCEDURE iostall.run_samples AS RETURN 0');
GO
-- Samples on a beat.
--   @interval_s  from sample to sample, 1 to 43200 seconds; samples fall on whole multiples of it since 2000, UTC
--   @duration_s  how long; NULL is until iostall.stop_run
--   @database, @file  as for iostall.take_sample
-- Several runs may go on at once, each with its own filters.
ALTER PROCEDURE iostall.run_samples
    @interval_s INT = 10,
    @duration_s BIGINT = NULL,
    @database NVARCHAR(128) = NULL,
    @file NVARCHAR(260) = NULL,
    @run_id BIGINT = NULL OUTPUT
AS
BEGIN
    SET NOCOUNT ON;
    -- Off, so that a sample that fails leaves the run alive: it rolls back itself.
    SET XACT_ABORT OFF;
    -- Somebody's setting must not leave a transaction open behind this.
    SET IMPLICIT_TRANSACTIONS OFF;

    DECLARE
        @resource NVARCHAR(60), @lock INT, @start_ticks BIGINT, @ticks BIGINT, @utc DATETIME2(3),
        @now_ms BIGINT, @interval_ms BIGINT = CONVERT(BIGINT, @interval_s) * 1000, @beat BIGINT, @last_beat BIGINT,
        @wait_ms BIGINT, @delay CHAR(12), @reason NVARCHAR(20), @message NVARCHAR(2048);

    IF @@TRANCOUNT > 0
        BEGIN
            RAISERROR (N'iostall.run_samples must not be called inside a transaction.', 16, 1);
            RETURN 1;
        END;
    IF @interval_s IS NULL OR @interval_s NOT BETWEEN 1 AND 43200 OR @duration_s <= 0
        BEGIN
            RAISERROR (N'@interval_s must be 1 to 43200 and @duration_s at least 1, or NULL for no end.', 16, 1);
            RETURN 1;
        END;

    EXEC iostall.close_dead_runs;
    -- In one transaction: nobody may see the run without its lock, and take it for dead.
    BEGIN TRANSACTION;
    INSERT INTO iostall.run (started_utc, interval_s, duration_s, filter_text, login_name)
    VALUES (
        SYSUTCDATETIME(), @interval_s, @duration_s,
        NULLIF(ISNULL(N'database LIKE ' + @database + N' ', N'') + ISNULL(N'file LIKE ' + @file, N''), N''),
        ORIGINAL_LOGIN()
    );
    SET @run_id = SCOPE_IDENTITY();
    SET @resource = N'iostall.run.' + CONVERT(NVARCHAR(20), @run_id);
    EXEC @lock = sys.sp_getapplock
        @Resource = @resource, @LockMode = 'Exclusive', @LockOwner = 'Session', @LockTimeout = 0;
    COMMIT TRANSACTION;

    BEGIN TRY
        SELECT @start_ticks = i.ms_ticks FROM sys.dm_os_sys_info AS i;
        WHILE @reason IS NULL
            BEGIN
                -- The next beat by the calendar, the end by the computer's ticks: a clock that is set moves beats,
                -- and never stretches the run.
                SELECT @ticks = i.ms_ticks, @utc = SYSUTCDATETIME() FROM sys.dm_os_sys_info AS i;
                SET
                    @now_ms = CONVERT(BIGINT, DATEDIFF(DAY, CONVERT(DATETIME2(3), '2000-01-01'), @utc)) * 86400000
                    + DATEDIFF(MILLISECOND, CONVERT(DATETIME2(3), CONVERT(DATE, @utc)), @utc);
                SET @beat = @now_ms / @interval_ms + 1;
                SET @wait_ms = @beat * @interval_ms - @now_ms;
                IF @ticks + @wait_ms > @start_ticks + @duration_s * 1000
                    BEGIN
                        SET @reason = N'duration';
                        BREAK;
                    END;

                IF @beat > @last_beat + 1
                    INSERT INTO iostall.event (run_id, at_utc, beats, message)
                    VALUES (
                        @run_id,
                        @utc,
                        @beat - @last_beat - 1,
                        N'no time was left for these beats: the sample before took longer than the interval, or the clock was set'
                    );
                SET @last_beat = @beat;

                -- hh:mm:ss.mmm, the one documented form besides datetime.
                SET @delay = SUBSTRING(
                    CONVERT(CHAR(23), DATEADD(MILLISECOND, CONVERT(INT, @wait_ms), CONVERT(DATETIME2(3), '2000-01-01')), 121), 12, 12
                );
                WAITFOR DELAY @delay;

                BEGIN TRY
                    EXEC iostall.take_sample @database = @database, @file = @file, @run_id = @run_id;
                END TRY
                BEGIN CATCH
                    SET @message = ERROR_MESSAGE();
                    IF XACT_STATE() <> 0
                        ROLLBACK TRANSACTION;
                    INSERT INTO iostall.event (run_id, at_utc, beats, message)
                    VALUES (@run_id, SYSUTCDATETIME(), 1, @message);
                END CATCH;

                IF EXISTS (SELECT 1 FROM iostall.run WHERE run_id = @run_id AND stop_requested = 1)
                    SET @reason = N'stopped';
            END;
    END TRY
    BEGIN CATCH
        SET @message = ERROR_MESSAGE();
        SET @reason = N'error';
        IF XACT_STATE() <> 0
            ROLLBACK TRANSACTION;
    END CATCH;

    UPDATE iostall.run
    SET ended_utc = SYSUTCDATETIME(), end_reason = @reason
    WHERE run_id = @run_id;
    EXEC sys.sp_releaseapplock @Resource = @resource, @LockOwner = 'Session';
    IF @reason = N'error'
        BEGIN
            INSERT INTO iostall.event (run_id, at_utc, beats, message) VALUES (@run_id, SYSUTCDATETIME(), 0, @message);
            RAISERROR (N'%s', 16, 1, @message);
            RETURN 1;
        END;
    RETURN 0;
END;
GO
