/* iostall:test_pulled_content */
-- Samples, times at which they were taken, and all of their rows as a hash: equal wherever they are, whatever their numbers.
SELECT count(DISTINCT (s.source, s.number)) || ' ' || count(DISTINCT (s.source, s.taken_utc_ns)) || ' ' || md5(string_agg(
           concat_ws('|', o.name, s.taken_utc_ns, s.clock_ns, s.uptime_s, s.row_count, e.document, e.clock, f.kind, f.scope_name,
                     f.identity, f.name, (to_jsonb(r) - 'source' - 'series' - 'number')::text),
           chr(10) ORDER BY o.name, s.taken_utc_ns, f.kind, f.scope_name, f.identity))
FROM iostall.sample AS s
JOIN iostall.source AS o ON o.number = s.source
JOIN iostall.epoch AS e ON e.number = s.epoch
JOIN iostall.sample_row AS r ON r.source = s.source AND r.number = s.number
JOIN iostall.series AS f ON f.number = r.series;
