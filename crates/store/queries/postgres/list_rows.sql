/* iostall:list_rows */
-- The times are those of the first and the last sample: they leave most partitions out.
SELECT number, series, age_ms{counters}
FROM iostall.sample_row
WHERE source = $1 AND number >= $2 AND number <= $3 AND taken >= $4 AND taken <= $5
ORDER BY number, series;
