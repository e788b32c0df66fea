/* iostall:put_boot */
INSERT INTO iostall.server_boot (server, boot, hostname, last_seen) VALUES ($1, $2, $3, clock_timestamp())
ON CONFLICT (server, boot) DO UPDATE SET hostname = excluded.hostname, last_seen = excluded.last_seen;
