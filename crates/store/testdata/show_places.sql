/* iostall:test_show_places */
SELECT v.name, d.kind, d.identity, p.until IS NULL AS is_open
FROM iostall.volume_device AS p JOIN iostall.volume AS v ON v.number = p.volume JOIN iostall.device AS d ON d.number = p.device
ORDER BY v.number, d.kind, d.identity, p.since;
