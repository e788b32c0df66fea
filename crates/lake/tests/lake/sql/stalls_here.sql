/* iostall:test_lake_stalls_here */
SELECT s.id, extract(epoch FROM h.beginning)::bigint, sum(n)
FROM iostall.rollup_hour AS h JOIN iostall.series AS s ON s.number = h.series
CROSS JOIN LATERAL unnest(h.reads_by_stall) WITH ORDINALITY AS b (n, place)
WHERE beginning < '2026-03-03' AND place % 2 = 0 GROUP BY s.id, h.beginning ORDER BY s.id, h.beginning;
