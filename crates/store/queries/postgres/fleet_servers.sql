/* iostall:fleet_servers */
SELECT v.id::text, v.hostname, v.version, v.last_contact, v.clock_ahead_ms, v.clone_noticed,
       count(s.number) AS sources, max(s.last_utc_ns) AS newest_utc_ns
FROM iostall.server AS v JOIN iostall.source AS s ON s.server = v.number
GROUP BY v.number
ORDER BY coalesce(v.hostname, v.id::text), v.number;
