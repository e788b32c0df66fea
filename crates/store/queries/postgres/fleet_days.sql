/* iostall:fleet_days */
-- Days of some series of some sources.
SELECT series, beginning, reads_by_stall, writes_by_stall
FROM iostall.rollup_day
WHERE source = ANY ($1::integer[]) AND series = ANY ($2::integer[]) AND beginning >= $3 AND beginning < $4
ORDER BY series, beginning;
