/* iostall:lake_sources */
-- Those with anything in the day: rows of samples, or hours.
SELECT s.number, s.id::text, v.id::text, s.name, coalesce(v.hostname, v.id::text) AS server
FROM iostall.source AS s JOIN iostall.server AS v ON v.number = s.server
WHERE EXISTS (SELECT FROM iostall.sample AS p WHERE p.source = s.number AND p.taken >= $1 AND p.taken < $2 AND p.row_count > 0)
   OR EXISTS (SELECT FROM iostall.rollup_hour AS h WHERE h.source = s.number AND h.beginning >= $1 AND h.beginning < $2)
ORDER BY s.number;
