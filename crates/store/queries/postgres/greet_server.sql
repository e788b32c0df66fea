/* iostall:greet_server */
-- What is said of a server.
INSERT INTO iostall.server AS s (id, hostname, version, last_contact, clock_ahead_ms)
VALUES ($1::text::uuid, $2, $3, now(), round(extract(epoch FROM $4::timestamptz - clock_timestamp()) * 1000)::bigint)
ON CONFLICT (id) DO UPDATE
   SET hostname = excluded.hostname, version = excluded.version, last_contact = excluded.last_contact,
       clock_ahead_ms = excluded.clock_ahead_ms;
