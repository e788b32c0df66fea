/* iostall:list_sources */
SELECT s.id, s.store, s.name,
       (SELECT min(taken_utc_ns) FROM watch_sample WHERE source = s.number) AS first_utc_ns,
       (SELECT max(taken_utc_ns) FROM watch_sample WHERE source = s.number) AS last_utc_ns
FROM watch_source AS s ORDER BY s.name, s.number;
