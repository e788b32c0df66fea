/* iostall:fleet_files */
-- Of all servers: the files that were waited for longest. Whole days ($2 to $3) from their roll-ups, the hours around them from theirs.
WITH part AS (
    SELECT source, series, covered_ns, reads, writes, read_bytes, write_bytes, read_stall, write_stall, sync_stall
    FROM iostall.rollup_day WHERE beginning >= $2 AND beginning < $3
    UNION ALL
    SELECT source, series, covered_ns, reads, writes, read_bytes, write_bytes, read_stall, write_stall, sync_stall
    FROM iostall.rollup_hour WHERE (beginning >= $1 AND beginning < $2) OR (beginning >= $3 AND beginning < $4)
), used AS (
    SELECT source, series, sum(covered_ns)::float8 AS covered_ns, sum(reads)::float8 AS reads, sum(writes)::float8 AS writes,
           (coalesce(sum(read_bytes), 0) + coalesce(sum(write_bytes), 0))::float8 AS bytes,
           (coalesce(sum(read_stall), 0) + coalesce(sum(write_stall), 0) + coalesce(sum(sync_stall), 0))::float8 AS stall,
           (coalesce(sum(read_stall), 0) + coalesce(sum(write_stall), 0))::float8 AS io_stall
    FROM part GROUP BY source, series
)
SELECT coalesce(v.hostname, v.id::text) AS server, s.name AS source, f.kind, f.scope_name, f.name, f.lies_on,
       u.covered_ns, u.reads, u.writes, u.bytes, u.stall, u.io_stall, f.number, f.source
FROM used AS u
JOIN iostall.series AS f ON f.number = u.series
JOIN iostall.source AS s ON s.number = u.source
JOIN iostall.server AS v ON v.number = s.server
WHERE f.kind = ANY ($5::text[]) AND u.stall > 0
ORDER BY u.stall DESC, f.number LIMIT $6;
