/* iostall:add_source */
INSERT INTO iostall.source (id, server, name) VALUES ($1::text::uuid, $2, $3)
ON CONFLICT (id) DO UPDATE SET name = excluded.name
RETURNING number;
