/* iostall:put_run */
-- One that was complete stays as it is.
INSERT INTO iostall.run AS r (server, id, number, kind, name, started, ended, ended_utc_ns, host, tool_version, interrupted,
                              warning_count, targets, measured_ns, block_size, iops, mib_per_s, latency_ns_p99, document)
VALUES ($1, $2::text::uuid, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19::text::jsonb)
ON CONFLICT (server, id) DO UPDATE
   SET number = excluded.number, ended = excluded.ended, ended_utc_ns = excluded.ended_utc_ns,
       interrupted = excluded.interrupted, warning_count = excluded.warning_count, measured_ns = excluded.measured_ns,
       block_size = excluded.block_size, iops = excluded.iops, mib_per_s = excluded.mib_per_s,
       latency_ns_p99 = excluded.latency_ns_p99, document = excluded.document, received = now()
 WHERE r.interrupted AND (NOT excluded.interrupted OR excluded.ended_utc_ns > r.ended_utc_ns);
