/* iostall:list_rollups */
SELECT r.beginning_s, r.series, r.body
FROM watch_rollup AS r JOIN watch_series AS s ON s.number = r.series
WHERE s.source = :source AND r.tier = :tier AND r.beginning_s >= :from AND r.beginning_s < :to
ORDER BY r.beginning_s, r.series;
