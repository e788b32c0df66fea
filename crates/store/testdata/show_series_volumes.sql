/* iostall:test_show_series_volumes */
SELECT f.name, v.name, p.until IS NULL AS is_open
FROM iostall.series_volume AS p JOIN iostall.series AS f ON f.number = p.series JOIN iostall.volume AS v ON v.number = p.volume
ORDER BY f.number, p.since, v.number;
