/* iostall:put_push_agent */
INSERT INTO iostall.push_agent (server, labels, platform, release, objects)
VALUES ($1, $2::text::jsonb, $3, $4, $5::text::jsonb)
ON CONFLICT (server) DO UPDATE
SET labels = excluded.labels, platform = excluded.platform, release = excluded.release, objects = excluded.objects, last_contact = now();
