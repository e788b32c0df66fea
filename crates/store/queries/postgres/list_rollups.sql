/* iostall:list_rollups */
SELECT beginning, series, covered_ns, intervals, reads_by_stall, writes_by_stall, {peaks}{counters}
FROM iostall.{table}
WHERE source = $1 AND beginning >= $2 AND beginning < $3
ORDER BY beginning, series;
