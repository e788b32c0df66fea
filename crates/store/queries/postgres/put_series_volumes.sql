/* iostall:put_series_volumes */
INSERT INTO iostall.series_volume (series, volume)
SELECT s.number, v.number
FROM iostall.series AS s JOIN iostall.volume AS v ON v.source = s.source AND v.name = s.lies_on
WHERE s.source = $1
  AND NOT EXISTS (SELECT FROM iostall.series_volume AS p WHERE p.series = s.number AND p.until IS NULL)
ON CONFLICT (series, volume, since) DO UPDATE SET until = NULL;
