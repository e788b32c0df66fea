/* iostall:create_delta_views */
-- What a file did between two readings of it, and when nothing can be said. One row for each row of file_sample.
IF OBJECT_ID(N'iostall.file_delta', N'V') IS NULL
    EXEC (N'CREATE VIEW iostall.file_delta AS SELECT 1 AS placeholder');
GO
-- reset_reason is NULL for a delta; then every amount is the difference over interval_ms, however long that is.
-- A row with a reason has no amounts at all: never zero, never the value since the start, never some of the columns.
ALTER VIEW iostall.file_delta AS
/* iostall:file_delta */
WITH pair AS (
    SELECT
        c.sample_id, c.file_key, s.taken_utc, s.filter_text, c.size_bytes, c.previous_sample_id,
        c.reads, c.read_bytes, c.read_stall_ms, c.writes, c.write_bytes, c.write_stall_ms,
        c.queued_read_stall_ms, c.queued_write_stall_ms,
        p.reads AS p_reads, p.read_bytes AS p_read_bytes, p.read_stall_ms AS p_read_stall_ms,
        p.writes AS p_writes, p.write_bytes AS p_write_bytes, p.write_stall_ms AS p_write_stall_ms,
        p.queued_read_stall_ms AS p_queued_read_stall_ms, p.queued_write_stall_ms AS p_queued_write_stall_ms,
        s.ticks_ms - COALESCE(ps.ticks_ms, born.ticks_ms) AS interval_ms,
        CASE
            WHEN c.previous_sample_id IS NOT NULL AND p.sample_id IS NULL THEN N'baseline'
            WHEN p.sample_id IS NULL AND born.ticks_ms IS NOT NULL THEN NULL
            WHEN p.sample_id IS NULL AND replaced.file_key IS NOT NULL THEN N'identity-change'
            WHEN p.sample_id IS NULL THEN N'baseline'
            WHEN e.version <> pe.version THEN N'upgrade'
            WHEN e.instance_name <> pe.instance_name THEN N'identity-change'
            WHEN e.epoch_id <> pe.epoch_id THEN N'restart'
            WHEN
                c.handle <> p.handle OR (c.handle IS NULL AND p.handle IS NOT NULL)
                OR (c.handle IS NOT NULL AND p.handle IS NULL) THEN N'reattach'
            WHEN s.ticks_ms <= ps.ticks_ms THEN N'clock-change'
            WHEN
                c.reads < p.reads OR c.read_bytes < p.read_bytes OR c.read_stall_ms < p.read_stall_ms
                OR c.writes < p.writes OR c.write_bytes < p.write_bytes OR c.write_stall_ms < p.write_stall_ms
                OR c.queued_read_stall_ms < p.queued_read_stall_ms
                OR c.queued_write_stall_ms < p.queued_write_stall_ms THEN N'reattach'
        END AS reset_reason
    FROM iostall.file_sample AS c
    INNER JOIN iostall.sample AS s ON c.sample_id = s.sample_id
    INNER JOIN iostall.epoch AS e ON s.epoch_id = e.epoch_id
    INNER JOIN iostall.data_file AS f ON c.file_key = f.file_key
    LEFT JOIN iostall.file_sample AS p ON c.previous_sample_id = p.sample_id AND c.file_key = p.file_key
    LEFT JOIN iostall.sample AS ps ON p.sample_id = ps.sample_id
    LEFT JOIN iostall.epoch AS pe ON ps.epoch_id = pe.epoch_id
    -- The last sample of all files before a file was first seen.
    OUTER APPLY (
        SELECT TOP (1) x.sample_id, x.ticks_ms
        FROM iostall.sample AS x
        WHERE
            c.previous_sample_id IS NULL AND x.sample_id < c.sample_id AND x.epoch_id = s.epoch_id
            AND x.filter_text IS NULL
        ORDER BY x.sample_id DESC
    ) AS before
    -- If its database was made since, all that the file counts it did since. A renamed database looks as young, but
    -- its handles were there before.
    OUTER APPLY (
        SELECT before.ticks_ms
        WHERE
            f.first_age_ms < s.ticks_ms - before.ticks_ms AND c.handle IS NOT NULL
            AND NOT EXISTS (
                SELECT 1
                FROM iostall.file_sample AS x
                WHERE x.sample_id = before.sample_id AND x.handle = c.handle
            )
    ) AS born
    OUTER APPLY (
        SELECT TOP (1) o.file_key
        FROM iostall.data_file AS o
        WHERE
            c.previous_sample_id IS NULL AND o.file_key < c.file_key
            AND o.database_name = f.database_name AND o.physical_name = f.physical_name
        ORDER BY o.file_key DESC
    ) AS replaced
)

SELECT
    sample_id, file_key, taken_utc, filter_text, previous_sample_id, reset_reason, size_bytes,
    CASE WHEN reset_reason IS NULL THEN interval_ms END AS interval_ms,
    CASE WHEN reset_reason IS NULL THEN reads - ISNULL(p_reads, 0) END AS reads,
    CASE WHEN reset_reason IS NULL THEN read_bytes - ISNULL(p_read_bytes, 0) END AS read_bytes,
    CASE WHEN reset_reason IS NULL THEN read_stall_ms - ISNULL(p_read_stall_ms, 0) END AS read_stall_ms,
    CASE WHEN reset_reason IS NULL THEN writes - ISNULL(p_writes, 0) END AS writes,
    CASE WHEN reset_reason IS NULL THEN write_bytes - ISNULL(p_write_bytes, 0) END AS write_bytes,
    CASE WHEN reset_reason IS NULL THEN write_stall_ms - ISNULL(p_write_stall_ms, 0) END AS write_stall_ms,
    CASE
        WHEN reset_reason IS NULL THEN queued_read_stall_ms - ISNULL(p_queued_read_stall_ms, 0)
    END AS queued_read_stall_ms,
    CASE
        WHEN reset_reason IS NULL THEN queued_write_stall_ms - ISNULL(p_queued_write_stall_ms, 0)
    END AS queued_write_stall_ms
FROM pair;
GO
