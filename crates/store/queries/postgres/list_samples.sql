/* iostall:list_samples */
SELECT number, taken, taken_utc_ns, clock_ns, uptime_s, epoch, row_count
FROM iostall.sample
WHERE source = $1 AND number >= $2 AND number <= $3
ORDER BY number LIMIT $4;
