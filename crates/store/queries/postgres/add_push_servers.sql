/* iostall:add_push_servers */
INSERT INTO iostall.push_server (push, server, ring, state)
SELECT $1, v.number, n.ring, CASE WHEN n.ring = 1 THEN 'asked' ELSE 'waiting' END
FROM unnest($2::text[], $3::integer[]) AS n (id, ring)
JOIN iostall.server AS v ON v.id = n.id::uuid;
