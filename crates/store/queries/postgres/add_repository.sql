/* iostall:add_repository */
INSERT INTO iostall.repository (id, schema_version) VALUES ($1::text::uuid, $2);
