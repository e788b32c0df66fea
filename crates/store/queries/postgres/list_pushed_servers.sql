/* iostall:list_pushed_servers */
SELECT m.name, v.id::text, s.ring, s.state, s.reason, s.reported
FROM iostall.push_server AS s
JOIN iostall.server AS v ON v.number = s.server
LEFT JOIN iostall.member AS m ON m.server = s.server
WHERE s.push = $1
ORDER BY s.ring, m.name, v.number;
