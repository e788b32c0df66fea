/* iostall:put_relay_key */
INSERT INTO iostall.relay_key (server, public_key, confirm_key)
SELECT number, $2, $3 FROM iostall.server WHERE id = $1::text::uuid
ON CONFLICT (server) DO UPDATE SET public_key = excluded.public_key, confirm_key = excluded.confirm_key;
