/* iostall:test_lake_hours_here */
SELECT s.id, extract(epoch FROM h.beginning)::bigint, covered_ns, intervals, reads, read_stall, reads_per_s_max
FROM iostall.rollup_hour AS h JOIN iostall.series AS s ON s.number = h.series
WHERE beginning < '2026-03-03' ORDER BY s.id, h.beginning;
