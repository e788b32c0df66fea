/* iostall:test_add_members */
WITH hash AS (SELECT * FROM unnest(string_to_array('{hashes}', ',')) WITH ORDINALITY AS h (text, number)),
     added AS (
         INSERT INTO iostall.server (id)
         SELECT ('01890a5d-ac96-774b-bcc0-' || lpad(to_hex(number - 1), 12, '0'))::uuid FROM hash ORDER BY number
         RETURNING number, id)
INSERT INTO iostall.member (server, name, state, key_hash)
SELECT added.number, 'agent ' || hash.number, 'joined', decode(hash.text, 'hex')
FROM hash JOIN added ON added.id = ('01890a5d-ac96-774b-bcc0-' || lpad(to_hex(hash.number - 1), 12, '0'))::uuid;
