/* iostall:find_volumes */
-- Volumes by the name of their source, their own, and, where given, the name of their host or the id of their server.
SELECT v.number, coalesce(r.hostname, r.id::text)
FROM iostall.volume AS v
JOIN iostall.source AS s ON s.number = v.source
JOIN iostall.server AS r ON r.number = s.server
WHERE s.name = $1 AND v.name = $2 AND ($3::text IS NULL OR r.hostname = $3 OR r.id::text = $3)
ORDER BY v.number;
