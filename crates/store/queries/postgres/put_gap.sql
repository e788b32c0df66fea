/* iostall:put_gap */
INSERT INTO iostall.gap (source, at_utc_ns, missed, reason) VALUES ($1, $2, $3, $4)
ON CONFLICT (source, at_utc_ns) DO UPDATE SET missed = excluded.missed, reason = excluded.reason;
