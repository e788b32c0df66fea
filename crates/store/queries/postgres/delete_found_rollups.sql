/* iostall:delete_found_rollups */
DELETE FROM iostall.{table} AS r
USING unnest($2::timestamptz[], $3::integer[]) AS found (beginning, series)
WHERE r.source = $1 AND r.beginning = found.beginning AND r.series = found.series;
