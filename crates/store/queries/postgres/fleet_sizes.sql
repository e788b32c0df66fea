/* iostall:fleet_sizes */
-- What the files of each source held at the last sample of each day. OFFSET 0: the rows are looked up sample by sample. Joined as a whole,
-- all rows of all days would be read for the few that are asked for.
SELECT coalesce(v.hostname, v.id::text) AS server, s.name AS source, d.beginning, sum(held.size_bytes)::float8 AS bytes,
       s.number
FROM iostall.source AS s
JOIN iostall.server AS v ON v.number = s.server
CROSS JOIN generate_series($1::timestamptz, $2::timestamptz, interval '24 hours') AS d (beginning)
CROSS JOIN LATERAL (
    SELECT number, taken FROM iostall.sample
    WHERE source = s.number AND taken >= d.beginning AND taken < d.beginning + interval '24 hours'
    ORDER BY number DESC LIMIT 1
) AS last
CROSS JOIN LATERAL (
    SELECT series, size_bytes FROM iostall.sample_row
    WHERE source = s.number AND number = last.number AND taken = last.taken OFFSET 0
) AS held
JOIN iostall.series AS f ON f.number = held.series
WHERE f.kind = ANY ($3::text[]) AND held.size_bytes IS NOT NULL
GROUP BY s.number, v.number, d.beginning
ORDER BY s.number, d.beginning;
