/* iostall:lake_open_hours */
DECLARE lake_hours NO SCROLL CURSOR FOR
SELECT beginning, series, covered_ns, intervals, reads_by_stall, writes_by_stall, {peaks}{counters}
FROM iostall.rollup_hour
WHERE source = {source} AND beginning >= '{from}' AND beginning < '{to}'
ORDER BY series, beginning;
