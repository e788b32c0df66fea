/* iostall:find_relay_member */
SELECT m.server, v.id::text, m.name, m.state, k.public_key, k.confirm_key, k.received
FROM iostall.relay_key AS k
JOIN iostall.member AS m ON m.server = k.server
JOIN iostall.server AS v ON v.number = k.server
WHERE v.id = $1::text::uuid;
