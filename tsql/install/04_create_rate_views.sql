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
-- Databases, volumes and the server at one moment: sums of what their files did since the sample of all files before.
-- A sample of some files in between splits their intervals; all parts count. files_without_delta counts what the sums lack.
ALTER VIEW iostall.group_rate AS
/* iostall:group_rate */
WITH part AS (
    SELECT
        w.sample_id, r.file_key, r.database_name, r.volume, r.reset_reason, r.interval_ms, r.reads, r.read_bytes,
        r.read_stall_ms, r.writes, r.write_bytes, r.write_stall_ms,
        CASE WHEN r.sample_id = w.sample_id THEN r.size_bytes END AS size_bytes
    FROM iostall.file_rate AS r
    -- The first sample of all files at or after this one.
    CROSS APPLY (
        SELECT TOP (1) x.sample_id
        FROM iostall.sample AS x
        WHERE x.sample_id >= r.sample_id AND x.filter_text IS NULL
        ORDER BY x.sample_id
    ) AS w
),

whole AS (
    SELECT
        p.sample_id, p.file_key, MAX(p.database_name) AS database_name, MAX(p.volume) AS volume,
        MAX(CASE WHEN p.reset_reason IS NULL THEN 0 ELSE 1 END) AS has_reset,
        SUM(p.interval_ms) AS interval_ms, SUM(p.reads) AS reads, SUM(p.read_bytes) AS read_bytes,
        SUM(p.read_stall_ms) AS read_stall_ms, SUM(p.writes) AS writes, SUM(p.write_bytes) AS write_bytes,
        SUM(p.write_stall_ms) AS write_stall_ms, MAX(p.size_bytes) AS size_bytes
    FROM part AS p
    GROUP BY p.sample_id, p.file_key
),

member AS (
    SELECT
        g.kind, g.name, f.sample_id, f.has_reset, f.interval_ms, f.reads, f.read_bytes, f.read_stall_ms, f.writes,
        f.write_bytes, f.write_stall_ms, f.size_bytes,
        CONVERT(DECIMAL(19, 3), f.reads * 1000.0 / NULLIF(f.interval_ms, 0)) AS reads_per_s,
        CONVERT(DECIMAL(19, 3), f.writes * 1000.0 / NULLIF(f.interval_ms, 0)) AS writes_per_s,
        CONVERT(DECIMAL(19, 3), f.read_bytes * 1000.0 / NULLIF(f.interval_ms, 0)) AS read_bytes_per_s,
        CONVERT(DECIMAL(19, 3), f.write_bytes * 1000.0 / NULLIF(f.interval_ms, 0)) AS write_bytes_per_s,
        CONVERT(DECIMAL(19, 6), (f.read_stall_ms + f.write_stall_ms) * 1.0 / NULLIF(f.interval_ms, 0))
            AS in_flight_mean
    FROM whole AS f
    CROSS APPLY (
        SELECT N'database' AS kind, f.database_name AS name
        UNION ALL
        SELECT N'volume' AS kind, ISNULL(NULLIF(f.volume, N''), N'not known') AS name
        UNION ALL
        SELECT N'server' AS kind, N'all files' AS name
    ) AS g
)

SELECT
    m.sample_id, m.kind, m.name,
    MAX(s.taken_utc) AS taken_utc,
    COUNT(*) AS files,
    SUM(m.has_reset) AS files_without_delta,
    MAX(m.interval_ms) AS interval_ms_max,
    SUM(m.reads) AS reads,
    SUM(m.read_bytes) AS read_bytes,
    SUM(m.read_stall_ms) AS read_stall_ms,
    SUM(m.writes) AS writes,
    SUM(m.write_bytes) AS write_bytes,
    SUM(m.write_stall_ms) AS write_stall_ms,
    SUM(m.size_bytes) AS size_bytes,
    SUM(m.reads_per_s) AS reads_per_s,
    SUM(m.writes_per_s) AS writes_per_s,
    SUM(m.read_bytes_per_s) AS read_bytes_per_s,
    SUM(m.write_bytes_per_s) AS write_bytes_per_s,
    CONVERT(DECIMAL(19, 6), SUM(m.read_stall_ms) * 1.0 / NULLIF(SUM(m.reads), 0)) AS read_stall_ms_per_read,
    CONVERT(DECIMAL(19, 6), SUM(m.write_stall_ms) * 1.0 / NULLIF(SUM(m.writes), 0)) AS write_stall_ms_per_write,
    CONVERT(DECIMAL(19, 6), SUM(m.read_stall_ms + m.write_stall_ms) * 1.0 / NULLIF(SUM(m.reads + m.writes), 0))
        AS stall_ms_per_io,
    SUM(m.in_flight_mean) AS in_flight_mean
FROM member AS m
INNER JOIN iostall.sample AS s ON m.sample_id = s.sample_id
GROUP BY m.sample_id, m.kind, m.name;
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
