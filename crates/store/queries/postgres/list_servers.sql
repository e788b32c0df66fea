/* iostall:list_servers */
SELECT v.id::text, m.name, m.state, m.host, m.version, m.joined, m.state_since, m.key_made, m.last_contact, m.clock_ahead_ms,
       count(s.number), max(s.last_utc_ns),
       v.hostname, v.version, v.last_contact, v.clock_ahead_ms, m.refused, m.refused_at
FROM iostall.server AS v
LEFT JOIN iostall.member AS m ON m.server = v.number
LEFT JOIN iostall.source AS s ON s.server = v.number
GROUP BY v.number, m.server
ORDER BY coalesce(m.name, v.hostname) NULLS LAST, v.number;
