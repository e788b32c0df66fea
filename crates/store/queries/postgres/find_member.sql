/* iostall:find_member */
SELECT m.server, v.id::text, m.name, m.state, m.joined, m.key_hash = $1
FROM iostall.member AS m JOIN iostall.server AS v ON v.number = m.server
WHERE m.key_hash = $1 OR m.next_key_hash = $1;
