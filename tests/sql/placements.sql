/* iostall:test_placements */
SELECT coalesce(string_agg(concat_ws('|', s.name, v.name, d.kind, d.identity, d.model, p.until IS NULL), chr(10)
                           ORDER BY s.name, v.name, d.kind, d.identity), '')
FROM iostall.volume_device AS p
JOIN iostall.volume AS v ON v.number = p.volume
JOIN iostall.source AS s ON s.number = v.source
JOIN iostall.device AS d ON d.number = p.device;
