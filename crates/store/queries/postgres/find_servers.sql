/* iostall:find_servers */
SELECT m.server, v.id::text, m.name, m.state, m.joined
FROM iostall.member AS m JOIN iostall.server AS v ON v.number = m.server
WHERE m.name = $1 OR v.id::text = $1
ORDER BY m.server;
