/* iostall:create_roll_up_procedures */
IF OBJECT_ID(N'iostall.roll_up_samples', N'P') IS NULL
    EXEC (N'CREATE PROCEDURE iostall.roll_up_samples AS RETURN 0');
GO
-- Adds the samples since the last time to hours and days. Once at a time, and in one transaction with the mark up to
-- where they go: a sample is counted once, however often this runs and whenever it is killed. An interval belongs
-- to the hour and the day in which it ends, with its whole length as covered time.
ALTER PROCEDURE iostall.roll_up_samples
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    -- Somebody's setting must not leave a transaction open behind this.
    SET IMPLICIT_TRANSACTIONS OFF;
    DECLARE @from BIGINT, @to BIGINT, @lock INT, @message NVARCHAR(2048);

    CREATE TABLE #addition (
        -- Named, because a temporary table takes the collation of tempdb.
        tier CHAR(1) COLLATE Latin1_General_BIN2 NOT NULL,
        beginning_utc DATETIME2(0) NOT NULL,
        file_key BIGINT NOT NULL,
        covered_ms BIGINT NOT NULL,
        intervals BIGINT NOT NULL,
        resets BIGINT NOT NULL,
        reads BIGINT NOT NULL,
        read_bytes BIGINT NOT NULL,
        read_stall_ms BIGINT NOT NULL,
        writes BIGINT NOT NULL,
        write_bytes BIGINT NOT NULL,
        write_stall_ms BIGINT NOT NULL,
        queued_read_stall_ms BIGINT NULL,
        queued_write_stall_ms BIGINT NULL,
        size_bytes_max BIGINT NOT NULL,
        reads_per_s_max DECIMAL(19, 3) NULL,
        writes_per_s_max DECIMAL(19, 3) NULL,
        read_bytes_per_s_max DECIMAL(19, 3) NULL,
        write_bytes_per_s_max DECIMAL(19, 3) NULL,
        read_stall_ms_per_read_max DECIMAL(19, 6) NULL,
        write_stall_ms_per_write_max DECIMAL(19, 6) NULL,
        PRIMARY KEY (tier, beginning_utc, file_key)
    );

    IF @@TRANCOUNT > 0
        BEGIN
            RAISERROR (N'iostall.roll_up_samples must not be called inside a transaction.', 16, 1);
            RETURN 1;
        END;

    BEGIN TRY
        BEGIN TRANSACTION;
        EXEC @lock = sys.sp_getapplock
            @Resource = N'iostall.roll_up', @LockMode = 'Exclusive', @LockOwner = 'Transaction', @LockTimeout = 0;
        IF @lock < 0
            RAISERROR (N'Another roll-up is under way.', 16, 1);
        SELECT @from = u.up_to_sample_id FROM iostall.rolled_up AS u;
        SELECT @to = ISNULL(MAX(s.sample_id), @from) FROM iostall.sample AS s;

        /* iostall:sum_samples */
        INSERT INTO #addition (
            tier, beginning_utc, file_key, covered_ms, intervals, resets, reads, read_bytes, read_stall_ms,
            writes, write_bytes, write_stall_ms, queued_read_stall_ms, queued_write_stall_ms, size_bytes_max,
            reads_per_s_max, writes_per_s_max, read_bytes_per_s_max, write_bytes_per_s_max,
            read_stall_ms_per_read_max, write_stall_ms_per_write_max
        )
        SELECT
            t.tier, t.beginning_utc, r.file_key,
            SUM(ISNULL(r.interval_ms, 0)),
            SUM(CASE WHEN r.reset_reason IS NULL THEN 1 ELSE 0 END),
            SUM(CASE WHEN r.reset_reason IS NULL OR r.reset_reason = N'baseline' THEN 0 ELSE 1 END),
            SUM(ISNULL(r.reads, 0)), SUM(ISNULL(r.read_bytes, 0)), SUM(ISNULL(r.read_stall_ms, 0)),
            SUM(ISNULL(r.writes, 0)), SUM(ISNULL(r.write_bytes, 0)), SUM(ISNULL(r.write_stall_ms, 0)),
            SUM(r.queued_read_stall_ms), SUM(r.queued_write_stall_ms), MAX(r.size_bytes),
            MAX(r.reads_per_s), MAX(r.writes_per_s), MAX(r.read_bytes_per_s), MAX(r.write_bytes_per_s),
            MAX(r.read_stall_ms_per_read), MAX(r.write_stall_ms_per_write)
        FROM iostall.file_rate AS r
        CROSS APPLY (
            SELECT 'D' AS tier, CONVERT(DATETIME2(0), CONVERT(DATE, r.taken_utc)) AS beginning_utc
            UNION ALL
            SELECT
                'H' AS tier,
                DATEADD(HOUR, DATEPART(HOUR, r.taken_utc), CONVERT(DATETIME2(0), CONVERT(DATE, r.taken_utc))) AS beginning_utc
        ) AS t
        WHERE r.sample_id > @from AND r.sample_id <= @to
        GROUP BY t.tier, t.beginning_utc, r.file_key;

        /* iostall:add_to_roll_ups */
        UPDATE u
        SET
            covered_ms = u.covered_ms + a.covered_ms,
            intervals = u.intervals + a.intervals,
            resets = u.resets + a.resets,
            reads = u.reads + a.reads,
            read_bytes = u.read_bytes + a.read_bytes,
            read_stall_ms = u.read_stall_ms + a.read_stall_ms,
            writes = u.writes + a.writes,
            write_bytes = u.write_bytes + a.write_bytes,
            write_stall_ms = u.write_stall_ms + a.write_stall_ms,
            queued_read_stall_ms = COALESCE(
                u.queued_read_stall_ms + a.queued_read_stall_ms, u.queued_read_stall_ms, a.queued_read_stall_ms
            ),
            queued_write_stall_ms = COALESCE(
                u.queued_write_stall_ms + a.queued_write_stall_ms, u.queued_write_stall_ms, a.queued_write_stall_ms
            ),
            size_bytes_max = (SELECT MAX(v.x) FROM (VALUES (u.size_bytes_max), (a.size_bytes_max)) AS v(x)),
            reads_per_s_max = (SELECT MAX(v.x) FROM (VALUES (u.reads_per_s_max), (a.reads_per_s_max)) AS v(x)),
            writes_per_s_max = (SELECT MAX(v.x) FROM (VALUES (u.writes_per_s_max), (a.writes_per_s_max)) AS v(x)),
            read_bytes_per_s_max = (SELECT MAX(v.x) FROM (VALUES (u.read_bytes_per_s_max), (a.read_bytes_per_s_max)) AS v(x)),
            write_bytes_per_s_max = (SELECT MAX(v.x) FROM (VALUES (u.write_bytes_per_s_max), (a.write_bytes_per_s_max)) AS v(x)),
            read_stall_ms_per_read_max = (SELECT MAX(v.x) FROM (VALUES (u.read_stall_ms_per_read_max), (a.read_stall_ms_per_read_max)) AS v(x)),
            write_stall_ms_per_write_max = (SELECT MAX(v.x) FROM (VALUES (u.write_stall_ms_per_write_max), (a.write_stall_ms_per_write_max)) AS v(x))
        FROM iostall.roll_up AS u
        INNER JOIN #addition AS a ON u.tier = a.tier AND u.beginning_utc = a.beginning_utc AND u.file_key = a.file_key;

        INSERT INTO iostall.roll_up (
            tier, beginning_utc, file_key, covered_ms, intervals, resets, reads, read_bytes, read_stall_ms,
            writes, write_bytes, write_stall_ms, queued_read_stall_ms, queued_write_stall_ms, size_bytes_max,
            reads_per_s_max, writes_per_s_max, read_bytes_per_s_max, write_bytes_per_s_max,
            read_stall_ms_per_read_max, write_stall_ms_per_write_max
        )
        SELECT
            a.tier, a.beginning_utc, a.file_key, a.covered_ms, a.intervals, a.resets, a.reads, a.read_bytes,
            a.read_stall_ms, a.writes, a.write_bytes, a.write_stall_ms, a.queued_read_stall_ms,
            a.queued_write_stall_ms, a.size_bytes_max, a.reads_per_s_max, a.writes_per_s_max,
            a.read_bytes_per_s_max, a.write_bytes_per_s_max, a.read_stall_ms_per_read_max,
            a.write_stall_ms_per_write_max
        FROM #addition AS a
        WHERE NOT EXISTS (
            SELECT 1
            FROM iostall.roll_up AS u
            WHERE u.tier = a.tier AND u.beginning_utc = a.beginning_utc AND u.file_key = a.file_key
        );

        UPDATE iostall.rolled_up SET up_to_sample_id = @to;
        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        SET @message = ERROR_MESSAGE();
        IF XACT_STATE() <> 0
            ROLLBACK TRANSACTION;
        RAISERROR (N'%s', 16, 1, @message);
        RETURN 1;
    END CATCH;
    RETURN 0;
END;
GO

IF OBJECT_ID(N'iostall.purge_history', N'P') IS NULL
    EXEC (N'CREATE PROCEDURE iostall.purge_history AS RETURN 0');
GO
-- Deletes what is old, in batches of @batch samples so that the log stays small: raw samples that are rolled up, and
-- hours. Days are kept for ever unless @keep_days says otherwise. The newest sample always stays: the next one needs it.
ALTER PROCEDURE iostall.purge_history
    @keep_raw INT = 14,
    @keep_hours INT = 732,
    @keep_days INT = NULL,
    @batch INT = 100
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    -- Somebody's setting must not leave a transaction open behind this.
    SET IMPLICIT_TRANSACTIONS OFF;
    DECLARE
        @now DATETIME2(3) = SYSUTCDATETIME(), @limit BIGINT, @first BIGINT, @to BIGINT, @deleted INT = 1;

    IF @keep_raw IS NULL OR @keep_raw < 1 OR @keep_hours < 1 OR @keep_days < 1 OR @batch IS NULL OR @batch < 1
        BEGIN
            RAISERROR (N'Every length is in whole days and at least 1; @batch is at least 1.', 16, 1);
            RETURN 1;
        END;
    IF @@TRANCOUNT > 0
        BEGIN
            RAISERROR (N'iostall.purge_history must not be called inside a transaction.', 16, 1);
            RETURN 1;
        END;

    -- Up to here samples may go: old enough, rolled up, and not the newest.
    SELECT @limit = MAX(s.sample_id)
    FROM iostall.sample AS s
    WHERE
        s.taken_utc < DATEADD(DAY, -@keep_raw, @now)
        AND s.sample_id <= (SELECT u.up_to_sample_id FROM iostall.rolled_up AS u)
        AND s.sample_id < (SELECT MAX(n.sample_id) FROM iostall.sample AS n);
    SELECT @first = MIN(s.sample_id) FROM iostall.sample AS s;

    WHILE @first <= @limit
        BEGIN
            SET @to = CASE WHEN @first + @batch - 1 < @limit THEN @first + @batch - 1 ELSE @limit END;
            BEGIN TRANSACTION;
            /* iostall:purge_samples */
            DELETE FROM iostall.file_sample WHERE sample_id >= @first AND sample_id <= @to;
            DELETE FROM iostall.sample WHERE sample_id >= @first AND sample_id <= @to;
            COMMIT TRANSACTION;
            SET @first = @to + 1;
        END;

    WHILE @deleted > 0
        BEGIN
        /* iostall:purge_roll_ups */
            DELETE TOP (10000) FROM iostall.roll_up
            WHERE
                (tier = 'H' AND beginning_utc < DATEADD(DAY, -@keep_hours, @now))
                OR (tier = 'D' AND beginning_utc < DATEADD(DAY, -@keep_days, @now));
            SET @deleted = @@ROWCOUNT;
        END;

    DELETE FROM iostall.event WHERE at_utc < DATEADD(DAY, -@keep_raw, @now);
    RETURN 0;
END;
GO
