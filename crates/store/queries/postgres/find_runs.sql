/* iostall:find_runs */
-- The runs of a server with this number, or whose id begins or ends with these digits; the one with this age; two are too many.
SELECT coalesce(m.name, v.hostname, v.id::text) AS server, v.id::text AS server_id,
       r.number, r.id::text, r.kind, r.name, r.started, r.ended_utc_ns, r.host, r.tool_version, r.interrupted, r.warning_count,
       r.targets, r.measured_ns, r.block_size, r.iops, r.mib_per_s, r.latency_ns_p99, r.document::text AS document
FROM iostall.run AS r
JOIN iostall.server AS v ON v.number = r.server
LEFT JOIN iostall.member AS m ON m.server = r.server
WHERE (m.name = $1 OR v.hostname = $1 OR v.id::text = $1)
  AND ($2::bigint IS NULL OR r.number = $2)
  AND ($3::text IS NULL OR replace(r.id::text, '-', '') LIKE $3 || '%' OR replace(r.id::text, '-', '') LIKE '%' || $3)
ORDER BY r.started DESC, r.number DESC, r.server
OFFSET $4 LIMIT $5;
