/* iostall:test_fleet_content */
SELECT count(*) || ' ' || count(DISTINCT (s.source, s.number)) || ' ' || md5(string_agg(
           concat_ws('|', o.id, s.number, s.taken_utc_ns, s.clock_ns, s.uptime_s, s.row_count, e.id, e.document, f.id, f.name,
                     (to_jsonb(r) - 'source' - 'series')::text), chr(10) ORDER BY o.id, s.number, f.id))
FROM iostall.sample AS s
JOIN iostall.source AS o ON o.number = s.source
JOIN iostall.epoch AS e ON e.number = s.epoch
JOIN iostall.sample_row AS r ON r.source = s.source AND r.number = s.number
JOIN iostall.series AS f ON f.number = r.series;
