/* iostall:list_push_agents */
-- Those that may take something.
SELECT v.id::text, m.name, a.labels::text, a.objects::text, a.last_contact
FROM iostall.push_agent AS a
JOIN iostall.member AS m ON m.server = a.server
JOIN iostall.server AS v ON v.number = a.server
WHERE m.state = 'joined'
ORDER BY m.name, v.number;
