/* iostall:describe_source */
SELECT s.id::text, v.id::text AS server, s.name
FROM iostall.source AS s JOIN iostall.server AS v ON v.number = s.server
WHERE s.number = $1;
