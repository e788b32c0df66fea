/* iostall:put_run */
-- One that was complete stays as it is, and one that is older than runs are kept is not added.
INSERT INTO iostall.run AS r (server, id, number, kind, name, started, ended, ended_utc_ns, host, tool_version, interrupted,
                              warning_count, targets, measured_ns, block_size, iops, mib_per_s, latency_ns_p99, document)
SELECT $1::integer, $2::text::uuid, $3::bigint, $4::text, $5::text, $6::timestamptz, $7::timestamptz, $8::bigint, $9::text, $10::text,
       $11::boolean, $12::bigint, $13::text[], $14::bigint, $15::text, $16::double precision, $17::double precision, $18::bigint,
       $19::text::jsonb
 WHERE $8 >= (SELECT runs_forgotten_utc_ns FROM iostall.repository)
ON CONFLICT (server, id) DO UPDATE
   SET number = excluded.number, ended = excluded.ended, ended_utc_ns = excluded.ended_utc_ns,
       interrupted = excluded.interrupted, warning_count = excluded.warning_count, measured_ns = excluded.measured_ns,
       block_size = excluded.block_size, iops = excluded.iops, mib_per_s = excluded.mib_per_s,
       latency_ns_p99 = excluded.latency_ns_p99, document = excluded.document, received = now()
 WHERE r.interrupted AND (NOT excluded.interrupted OR excluded.ended_utc_ns > r.ended_utc_ns);
