/* iostall:lake_unfinished */
SELECT m.number, m.day::text, m.place, coalesce(array_agg(f.path) FILTER (WHERE f.path IS NOT NULL), ARRAY[]::text[]) AS paths
FROM iostall.lake_move AS m LEFT JOIN iostall.lake_file AS f ON f.move = m.number
WHERE m.state IN ('writing', 'verified')
GROUP BY m.number, m.day, m.place
ORDER BY m.number;
