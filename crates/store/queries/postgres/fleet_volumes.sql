/* iostall:fleet_volumes */
-- Of all servers: the volumes whose files were waited for longest; those of Linux by what the host counted itself.
WITH part AS (
    SELECT source, series, covered_ns, reads, writes, read_bytes, write_bytes, read_stall, write_stall, sync_stall
    FROM iostall.rollup_day WHERE beginning >= $2 AND beginning < $3
    UNION ALL
    SELECT source, series, covered_ns, reads, writes, read_bytes, write_bytes, read_stall, write_stall, sync_stall
    FROM iostall.rollup_hour WHERE (beginning >= $1 AND beginning < $2) OR (beginning >= $3 AND beginning < $4)
), used AS (
    SELECT part.source, f.lies_on, f.kind = 'linux-device' AS is_device, max(f.kind) AS kind, sum(covered_ns)::float8 AS covered_ns, sum(reads)::float8 AS reads, sum(writes)::float8 AS writes,
           (coalesce(sum(read_bytes), 0) + coalesce(sum(write_bytes), 0))::float8 AS bytes,
           (coalesce(sum(read_stall), 0) + coalesce(sum(write_stall), 0) + coalesce(sum(sync_stall), 0))::float8 AS stall,
           (coalesce(sum(read_stall), 0) + coalesce(sum(write_stall), 0))::float8 AS io_stall
    FROM part JOIN iostall.series AS f ON f.number = part.series
    WHERE f.kind = ANY ($5::text[]) AND f.lies_on IS NOT NULL
    GROUP BY part.source, f.lies_on, is_device
)
SELECT coalesce(v.hostname, v.id::text) AS server, s.name AS source, u.kind, ''::text AS scope_name, u.lies_on AS name, NULL::text,
       u.covered_ns, u.reads, u.writes, u.bytes, u.stall, u.io_stall, 0, u.source
FROM used AS u
JOIN iostall.source AS s ON s.number = u.source
JOIN iostall.server AS v ON v.number = s.server
WHERE u.stall > 0
ORDER BY u.stall DESC, u.source, u.lies_on LIMIT $6;
