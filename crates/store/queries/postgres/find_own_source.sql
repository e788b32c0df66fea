/* iostall:find_own_source */
SELECT s.number, s.id::text
FROM iostall.source AS s JOIN iostall.server AS v ON v.number = s.server
WHERE v.id = $1::text::uuid AND s.name = $2
ORDER BY s.number LIMIT 1;
