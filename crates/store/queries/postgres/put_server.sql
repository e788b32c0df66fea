/* iostall:put_server */
-- The update that changes nothing locks the row: of two who create a source of one name, one waits.
INSERT INTO iostall.server (id) VALUES ($1::text::uuid)
ON CONFLICT (id) DO UPDATE SET id = excluded.id
RETURNING number;
