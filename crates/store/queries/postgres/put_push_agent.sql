/* iostall:put_push_agent */
INSERT INTO iostall.push_agent (server, labels, objects)
VALUES ($1, $2::text::jsonb, $3::text::jsonb)
ON CONFLICT (server) DO UPDATE
SET labels = excluded.labels, objects = excluded.objects, last_contact = now();
