/* iostall:add_release */
INSERT INTO iostall.release (id, version, objects, parts) VALUES ($1, $2, $3::text::jsonb, $4) ON CONFLICT (id) DO NOTHING;
