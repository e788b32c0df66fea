/* iostall:test_lake_rows_here */
-- What PostgreSQL says of the rows, in the units of the lake.
SELECT s.id, s.lies_on, count(*), sum(r.reads), sum(r.read_stall * 1000000), sum(r.read_bytes), min(r.handle),
       max(p.clock_ns), sum(r.age_ms), min((extract(epoch FROM r.taken) * 1000000)::bigint)
FROM iostall.sample_row AS r
JOIN iostall.series AS s ON s.number = r.series
JOIN iostall.sample AS p ON p.source = r.source AND p.number = r.number
WHERE r.taken < '2026-03-03' GROUP BY s.id, s.lies_on ORDER BY s.id;
