/* iostall:end_series_volumes */
-- Series that lie elsewhere by now.
UPDATE iostall.series_volume AS p SET until = now()
FROM iostall.series AS s, iostall.volume AS v
WHERE s.source = $1 AND p.series = s.number AND p.until IS NULL AND v.number = p.volume AND v.name IS DISTINCT FROM s.lies_on;
