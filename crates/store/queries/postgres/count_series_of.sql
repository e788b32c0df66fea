/* iostall:count_series_of */
SELECT count(*)
FROM iostall.series AS r JOIN iostall.source AS s ON s.number = r.source
WHERE s.server = $1;
