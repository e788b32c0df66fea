/* iostall:test_notes_content */
-- Notes and settings of all servers, as lines. Measured values change by themselves between two readings.
SELECT line FROM (
    SELECT concat_ws('|', 'note', v.id, s.id, n.at_utc_ns, n.end_utc_ns, n.kind, n.text) AS line
    FROM iostall.note AS n
    JOIN iostall.server AS v ON v.number = n.server
    LEFT JOIN iostall.source AS s ON s.number = n.source
    UNION ALL
    SELECT concat_ws('|', 'setting', s.id, t.subject, t.name, t.from_utc_ns, t.to_utc_ns, t.value, t.class, t.is_change)
    FROM iostall.setting AS t
    JOIN iostall.source AS s ON s.number = t.source
    UNION ALL
    SELECT concat_ws('|', 'read', s.id, r.first_utc_ns, r.last_utc_ns)
    FROM iostall.setting_read AS r
    JOIN iostall.source AS s ON s.number = r.source
) AS lines
ORDER BY line;
