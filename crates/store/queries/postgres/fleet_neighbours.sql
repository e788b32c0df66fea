/* iostall:fleet_neighbours */
-- Devices on which, at some time in the window, volumes of several servers or several databases lay, with what each did there. What a
-- host counted itself is left out where a database on it counted too, and so are partitions and mappings.
WITH part AS (
    SELECT source, series, covered_ns, reads, writes, read_bytes, write_bytes, read_stall, write_stall, sync_stall
    FROM iostall.rollup_day WHERE beginning >= $2 AND beginning < $3
    UNION ALL
    SELECT source, series, covered_ns, reads, writes, read_bytes, write_bytes, read_stall, write_stall, sync_stall
    FROM iostall.rollup_hour WHERE (beginning >= $1 AND beginning < $2) OR (beginning >= $3 AND beginning < $4)
), used AS (
    SELECT part.source, f.lies_on, f.kind = 'linux-device' AS is_device, sum(covered_ns)::float8 AS covered_ns, sum(reads)::float8 AS reads, sum(writes)::float8 AS writes,
           (coalesce(sum(read_bytes), 0) + coalesce(sum(write_bytes), 0))::float8 AS bytes,
           (coalesce(sum(read_stall), 0) + coalesce(sum(write_stall), 0) + coalesce(sum(sync_stall), 0))::float8 AS stall,
           (coalesce(sum(read_stall), 0) + coalesce(sum(write_stall), 0))::float8 AS io_stall
    FROM part JOIN iostall.series AS f ON f.number = part.series
    WHERE f.kind = ANY ($5::text[]) AND f.lies_on IS NOT NULL AND (f.kind <> 'linux-device' OR f.scope_name = 'disk')
    GROUP BY part.source, f.lies_on, is_device
), member AS (
    SELECT DISTINCT p.device, s.server, u.*
    FROM used AS u
    JOIN iostall.volume AS v ON v.source = u.source AND v.name = u.lies_on
    JOIN iostall.volume_device AS p ON p.volume = v.number AND p.since < $4 AND (p.until IS NULL OR p.until > $1)
    JOIN iostall.source AS s ON s.number = u.source
), best AS (
    SELECT * FROM member AS m
    WHERE NOT m.is_device
       OR NOT EXISTS (SELECT FROM member AS o WHERE o.device = m.device AND o.server = m.server AND NOT o.is_device)
), shared AS (
    SELECT device, sum(stall) AS stall FROM best GROUP BY device HAVING count(DISTINCT source) > 1 ORDER BY 2 DESC LIMIT $6
)
SELECT d.kind, d.identity, d.model, coalesce(r.hostname, r.id::text) AS server, s.name AS source, b.lies_on,
       b.covered_ns, b.reads, b.writes, b.bytes, b.stall, b.io_stall
FROM shared
JOIN best AS b ON b.device = shared.device
JOIN iostall.device AS d ON d.number = shared.device
JOIN iostall.source AS s ON s.number = b.source
JOIN iostall.server AS r ON r.number = s.server
ORDER BY shared.stall DESC, d.number, b.stall DESC, s.number, b.lies_on;
