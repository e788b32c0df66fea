/* iostall:busy_servers */
-- Servers of which another push wants something.
SELECT m.name
FROM iostall.push_server AS s
JOIN iostall.push AS p ON p.number = s.push
JOIN iostall.member AS m ON m.server = s.server
JOIN iostall.server AS v ON v.number = s.server
WHERE p.state IN ('running', 'undoing') AND s.state IN ('waiting', 'asked', 'undo') AND v.id::text = ANY ($1::text[])
ORDER BY m.name LIMIT 1;
