/* iostall:list_pushes */
SELECT p.number, p.release, r.version, p.state, p.ring, p.rings, p.failed_max, p.begun, p.changed,
       count(*) FILTER (WHERE s.state = 'waiting'), count(*) FILTER (WHERE s.state = 'asked'),
       count(*) FILTER (WHERE s.state = 'applied'), count(*) FILTER (WHERE s.state = 'failed'),
       count(*) FILTER (WHERE s.state = 'undo'), count(*) FILTER (WHERE s.state = 'undone'),
       count(*) FILTER (WHERE s.state = 'undo-failed'), count(*) FILTER (WHERE s.state = 'left'),
       count(*) FILTER (WHERE s.state = 'skipped')
FROM iostall.push AS p
JOIN iostall.release AS r ON r.id = p.release
LEFT JOIN iostall.push_server AS s ON s.push = p.number
WHERE $1::bigint IS NULL OR p.number = $1
GROUP BY p.number, r.id
ORDER BY p.number DESC;
