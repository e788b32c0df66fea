/* iostall:fleet_sizes */
-- What the files of each source held at the last sample of each day.
SELECT coalesce(v.hostname, v.id::text) AS server, s.name AS source, d.beginning, sum(r.size_bytes)::float8 AS bytes,
       s.number
FROM iostall.source AS s
JOIN iostall.server AS v ON v.number = s.server
CROSS JOIN generate_series($1::timestamptz, $2::timestamptz, interval '24 hours') AS d (beginning)
CROSS JOIN LATERAL (
    SELECT number, taken FROM iostall.sample
    WHERE source = s.number AND taken >= d.beginning AND taken < d.beginning + interval '24 hours'
    ORDER BY number DESC LIMIT 1
) AS last
JOIN iostall.sample_row AS r ON r.source = s.number AND r.number = last.number AND r.taken = last.taken
JOIN iostall.series AS f ON f.number = r.series
WHERE f.kind = ANY ($3::text[]) AND r.size_bytes IS NOT NULL
GROUP BY s.number, v.number, d.beginning
ORDER BY s.number, d.beginning;
