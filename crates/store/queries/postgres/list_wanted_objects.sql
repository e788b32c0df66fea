/* iostall:list_wanted_objects */
-- What has to be on each server: the objects of the pushes that reached it, in order.
SELECT v.id::text, r.objects::text
FROM iostall.push_server AS s
JOIN iostall.push AS p ON p.number = s.push
JOIN iostall.release AS r ON r.id = p.release
JOIN iostall.server AS v ON v.number = s.server
WHERE s.state IN ('applied', 'asked', 'undo-failed')
   OR s.state = 'skipped' AND p.state IN ('running', 'done') AND s.ring <= p.ring
ORDER BY p.number;
