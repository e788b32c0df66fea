/* iostall:list_sources */
SELECT s.id::text, v.id::text AS server, s.name, s.last_utc_ns,
       (SELECT min(taken_utc_ns) FROM iostall.sample WHERE source = s.number) AS first_utc_ns
FROM iostall.source AS s JOIN iostall.server AS v ON v.number = s.server
ORDER BY s.name, s.number;
