/* iostall:find_release_part */
-- Of the release that is wanted of this server by this push.
SELECT t.content
FROM iostall.push_server AS s
JOIN iostall.push AS p ON p.number = s.push
JOIN iostall.release_part AS t ON t.release = p.release
WHERE s.server = $1 AND s.push = $2 AND t.number = $3
  AND (s.state = 'asked' OR s.state = 'skipped' AND p.state IN ('running', 'done'));
