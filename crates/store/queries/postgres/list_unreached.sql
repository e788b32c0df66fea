/* iostall:list_unreached */
-- Servers whose samples come in, and that no push reaches.
SELECT m.name
FROM iostall.member AS m
LEFT JOIN iostall.push_agent AS a ON a.server = m.server
WHERE m.state = 'joined' AND a.server IS NULL
ORDER BY m.name, m.server;
