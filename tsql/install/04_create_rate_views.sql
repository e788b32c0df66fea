/* iostall:create_rate_views */
-- Rates and stalls from deltas, in decimals: a millisecond shared by ten reads is 0.1 and not 0.
IF OBJECT_ID(N'iostall.file_rate', N'V') IS NULL
    EXEC (N'CREATE VIEW iostall.file_rate AS SELECT 1 AS placeholder');
GO
-- A stall per I/O is NULL where there was no I/O. Reads and writes each have their own: a log that is only written
-- has a write stall.
ALTER VIEW iostall.file_rate AS
/* iostall:file_rate */
SELECT
    d.sample_id, d.file_key, d.taken_utc, d.filter_text,
    f.database_name, f.physical_name, f.logical_name, f.type_name, f.volume,
    d.reset_reason, d.interval_ms, d.reads, d.read_bytes, d.read_stall_ms, d.writes, d.write_bytes,
    d.write_stall_ms, d.queued_read_stall_ms, d.queued_write_stall_ms, d.size_bytes,
    CONVERT(DECIMAL(19, 3), d.reads * 1000.0 / d.interval_ms) AS reads_per_s,
    CONVERT(DECIMAL(19, 3), d.writes * 1000.0 / d.interval_ms) AS writes_per_s,
    CONVERT(DECIMAL(19, 3), d.read_bytes * 1000.0 / d.interval_ms) AS read_bytes_per_s,
    CONVERT(DECIMAL(19, 3), d.write_bytes * 1000.0 / d.interval_ms) AS write_bytes_per_s,
    CONVERT(DECIMAL(19, 6), d.read_stall_ms * 1.0 / NULLIF(d.reads, 0)) AS read_stall_ms_per_read,
    CONVERT(DECIMAL(19, 6), d.write_stall_ms * 1.0 / NULLIF(d.writes, 0)) AS write_stall_ms_per_write,
    CONVERT(DECIMAL(19, 6), (d.read_stall_ms + d.write_stall_ms) * 1.0 / NULLIF(d.reads + d.writes, 0))
        AS stall_ms_per_io,
    CONVERT(DECIMAL(19, 3), d.read_bytes * 1.0 / NULLIF(d.reads, 0)) AS bytes_per_read,
    CONVERT(DECIMAL(19, 3), d.write_bytes * 1.0 / NULLIF(d.writes, 0)) AS bytes_per_write,
    -- Little's law: time waited in all, by time passed.
    CONVERT(DECIMAL(19, 6), (d.read_stall_ms + d.write_stall_ms) * 1.0 / d.interval_ms) AS in_flight_mean
FROM iostall.file_delta AS d
INNER JOIN iostall.data_file AS f ON d.file_key = f.file_key;
GO

IF OBJECT_ID(N'iostall.group_rate', N'V') IS NULL
    EXEC (N'CREATE VIEW iostall.group_rate AS SELECT 1 AS placeholder');
GO
-- Databases, volumes and the server at one moment: sums of what their files did, from samples of all files.
-- files_without_delta counts what the sums lack.
ALTER VIEW iostall.group_rate AS
/* iostall:group_rate */
WITH member AS (
    SELECT
        g.kind, g.name, r.sample_id, r.taken_utc, r.reset_reason, r.interval_ms, r.reads, r.read_bytes,
        r.read_stall_ms, r.writes, r.write_bytes, r.write_stall_ms, r.size_bytes, r.reads_per_s, r.writes_per_s,
        r.read_bytes_per_s, r.write_bytes_per_s, r.in_flight_mean
    FROM iostall.file_rate AS r
    CROSS APPLY (
        SELECT N'database' AS kind, r.database_name AS name
        UNION ALL
        SELECT N'volume' AS kind, ISNULL(r.volume, N'not known') AS name
        UNION ALL
        SELECT N'server' AS kind, N'all files' AS name
    ) AS g
    WHERE r.filter_text IS NULL
)

SELECT
    sample_id, kind, name,
    MAX(taken_utc) AS taken_utc,
    COUNT(*) AS files,
    SUM(CASE WHEN reset_reason IS NULL THEN 0 ELSE 1 END) AS files_without_delta,
    MAX(interval_ms) AS interval_ms_max,
    SUM(reads) AS reads,
    SUM(read_bytes) AS read_bytes,
    SUM(read_stall_ms) AS read_stall_ms,
    SUM(writes) AS writes,
    SUM(write_bytes) AS write_bytes,
    SUM(write_stall_ms) AS write_stall_ms,
    SUM(size_bytes) AS size_bytes,
    SUM(reads_per_s) AS reads_per_s,
    SUM(writes_per_s) AS writes_per_s,
    SUM(read_bytes_per_s) AS read_bytes_per_s,
    SUM(write_bytes_per_s) AS write_bytes_per_s,
    CONVERT(DECIMAL(19, 6), SUM(read_stall_ms) * 1.0 / NULLIF(SUM(reads), 0)) AS read_stall_ms_per_read,
    CONVERT(DECIMAL(19, 6), SUM(write_stall_ms) * 1.0 / NULLIF(SUM(writes), 0)) AS write_stall_ms_per_write,
    CONVERT(DECIMAL(19, 6), SUM(read_stall_ms + write_stall_ms) * 1.0 / NULLIF(SUM(reads + writes), 0))
        AS stall_ms_per_io,
    SUM(in_flight_mean) AS in_flight_mean
FROM member
GROUP BY sample_id, kind, name;
GO

IF OBJECT_ID(N'iostall.roll_up_rate', N'V') IS NULL
    EXEC (N'CREATE VIEW iostall.roll_up_rate AS SELECT 1 AS placeholder');
GO
-- Hours and days: sums divided by sums, over the time that is really covered.
ALTER VIEW iostall.roll_up_rate AS
/* iostall:roll_up_rate */
SELECT
    u.tier, u.beginning_utc, u.file_key, f.database_name, f.physical_name, f.volume,
    u.covered_ms, u.intervals, u.resets, u.reads, u.read_bytes, u.read_stall_ms, u.writes, u.write_bytes,
    u.write_stall_ms, u.size_bytes_max,
    CONVERT(DECIMAL(19, 3), u.reads * 1000.0 / NULLIF(u.covered_ms, 0)) AS reads_per_s,
    CONVERT(DECIMAL(19, 3), u.writes * 1000.0 / NULLIF(u.covered_ms, 0)) AS writes_per_s,
    CONVERT(DECIMAL(19, 3), u.read_bytes * 1000.0 / NULLIF(u.covered_ms, 0)) AS read_bytes_per_s,
    CONVERT(DECIMAL(19, 3), u.write_bytes * 1000.0 / NULLIF(u.covered_ms, 0)) AS write_bytes_per_s,
    CONVERT(DECIMAL(19, 6), u.read_stall_ms * 1.0 / NULLIF(u.reads, 0)) AS read_stall_ms_per_read,
    CONVERT(DECIMAL(19, 6), u.write_stall_ms * 1.0 / NULLIF(u.writes, 0)) AS write_stall_ms_per_write,
    u.reads_per_s_max, u.writes_per_s_max, u.read_bytes_per_s_max, u.write_bytes_per_s_max,
    u.read_stall_ms_per_read_max, u.write_stall_ms_per_write_max
FROM iostall.roll_up AS u
INNER JOIN iostall.data_file AS f ON u.file_key = f.file_key;
GO
