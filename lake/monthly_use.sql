/* iostall:lake_monthly_use */
-- What each source did in each month (UTC), and how long was waited for it. Times are nanoseconds.
SELECT max(server) AS server, max(source) AS source, source_id, kind, extract(YEAR FROM hour) AS year, extract(MONTH FROM hour) AS month,
       sum(reads) AS reads, sum(writes) AS writes, sum(read_bytes) AS read_bytes, sum(write_bytes) AS write_bytes,
       coalesce(sum(read_stall_ns), 0) + coalesce(sum(write_stall_ns), 0) AS stall_ns
FROM hours
GROUP BY source_id, kind, extract(YEAR FROM hour), extract(MONTH FROM hour)
ORDER BY source_id, kind, year, month;
