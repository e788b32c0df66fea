/* iostall:put_import */
INSERT INTO iostall.import_mark (source, sample, taken_utc_ns) VALUES ($1, $2, $3)
ON CONFLICT (source) DO UPDATE SET sample = excluded.sample, taken_utc_ns = excluded.taken_utc_ns;
