/* iostall:fleet_runs */
-- Runs of all servers, the newest first.
SELECT coalesce(m.name, v.hostname, v.id::text) AS server, v.id::text AS server_id,
       r.number, r.id::text, r.kind, r.name, r.started, r.ended_utc_ns, r.host, r.tool_version, r.interrupted, r.warning_count,
       r.targets, r.measured_ns, r.block_size, r.iops, r.mib_per_s, r.latency_ns_p99
FROM iostall.run AS r
JOIN iostall.server AS v ON v.number = r.server
LEFT JOIN iostall.member AS m ON m.server = r.server
WHERE ($1::text IS NULL OR m.name = $1 OR v.hostname = $1 OR v.id::text = $1)
  AND ($2::text IS NULL OR r.kind = $2)
  AND ($3::timestamptz IS NULL OR r.started >= $3)
ORDER BY r.started DESC, r.number DESC, r.server
LIMIT $4;
