/* iostall:fleet_notes */
-- Notes of all servers, in order of time.
SELECT coalesce(m.name, v.hostname, v.id::text) AS server, s.name AS source, n.at_utc_ns, n.end_utc_ns, n.kind, n.text
FROM iostall.note AS n
JOIN iostall.server AS v ON v.number = n.server
LEFT JOIN iostall.member AS m ON m.server = n.server
LEFT JOIN iostall.source AS s ON s.number = n.source
WHERE ($1::text IS NULL OR m.name = $1 OR v.hostname = $1 OR v.id::text = $1)
  AND n.at_utc_ns < $3
  AND coalesce(n.end_utc_ns, n.at_utc_ns) >= $2
ORDER BY n.at_utc_ns, n.server, s.name, n.text;
