/* iostall:find_wanted */
-- The newest push that wants something of this server.
SELECT p.number, p.release, r.parts, s.state = 'undo', CASE WHEN s.state = 'undo' THEN p.undo_action ELSE p.action END, p.permit
FROM iostall.push_server AS s
JOIN iostall.push AS p ON p.number = s.push
JOIN iostall.release AS r ON r.id = p.release
WHERE s.server = $1 AND s.state IN ('asked', 'undo')
ORDER BY p.number DESC LIMIT 1;
