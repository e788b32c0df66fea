/* iostall:lake_open_rows */
-- The rows of one source in a day, series by series. A cursor: they need not fit in memory.
DECLARE lake_rows NO SCROLL CURSOR FOR
SELECT r.series, r.number, r.age_ms, p.taken_utc_ns, p.clock_ns, p.uptime_s, p.epoch{counters}
FROM iostall.sample_row AS r
LEFT JOIN iostall.sample AS p
  ON p.source = {source} AND p.taken >= '{from}' AND p.taken < '{to}' AND p.number = r.number AND p.taken = r.taken
WHERE r.source = {source} AND r.taken >= '{from}' AND r.taken < '{to}'
ORDER BY r.series, r.number;
