/* iostall:test_add_members */
-- Servers 0 to {last}, each with the key that its number has the hash of.
WITH added AS (
    INSERT INTO iostall.server (id)
    SELECT ('01890a5d-ac96-774b-bcc0-' || lpad(to_hex(number), 12, '0'))::uuid FROM generate_series(0, {last}) AS n (number)
    ORDER BY number
    RETURNING number, id)
INSERT INTO iostall.member (server, name, state, key_hash)
SELECT added.number, 'agent ' || n.number, 'joined', sha256(sha256(convert_to('key ' || n.number, 'UTF8')))
FROM generate_series(0, {last}) AS n (number)
JOIN added ON added.id = ('01890a5d-ac96-774b-bcc0-' || lpad(to_hex(n.number), 12, '0'))::uuid;
