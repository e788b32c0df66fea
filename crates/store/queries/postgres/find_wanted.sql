/* iostall:find_wanted */
-- The newest push that wants something of this server. One that was skipped takes it when it is back, unless a newer one has reached it.
SELECT p.number, p.release, r.parts, CASE WHEN s.state = 'undo' THEN p.permit END
FROM iostall.push_server AS s
JOIN iostall.push AS p ON p.number = s.push
JOIN iostall.release AS r ON r.id = p.release
WHERE s.server = $1
  AND (s.state IN ('asked', 'undo')
       OR s.state = 'skipped' AND p.state IN ('running', 'done') AND s.ring <= p.ring
          AND NOT EXISTS (SELECT FROM iostall.push_server AS n WHERE n.server = s.server AND n.push > s.push AND n.state <> 'left'))
ORDER BY p.number DESC LIMIT 1;
