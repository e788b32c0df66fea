/* iostall:put_epoch */
INSERT INTO iostall.epoch (id, source, document, clock) VALUES ($1::text::uuid, $2, $3, $4)
ON CONFLICT (id) DO UPDATE SET clock = excluded.clock
RETURNING number;
