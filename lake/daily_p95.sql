/* iostall:lake_daily_p95 */
-- The interval stall that 95 % of the operations of a day (UTC) did not exceed, by series: never too low, at most a quarter too high.
WITH day AS (
    SELECT series_id, op, CAST(hour AS DATE) AS day, stall_ns_max, max(server) AS server, max(source) AS source,
           max(name) AS name, sum(operations) AS operations
    FROM stalls GROUP BY series_id, op, CAST(hour AS DATE), stall_ns_max
), ranked AS (
    SELECT series_id, op, day, server, source, name, stall_ns_max,
           sum(operations) OVER (PARTITION BY series_id, op, day ORDER BY stall_ns_max) AS up_to,
           sum(operations) OVER (PARTITION BY series_id, op, day) AS operations
    FROM day
)
SELECT max(server) AS server, max(source) AS source, max(name) AS name, series_id, day, op,
       max(operations) AS operations, min(stall_ns_max) AS stall_ns_p95
FROM ranked
WHERE 100 * up_to >= 95 * operations
GROUP BY series_id, op, day
ORDER BY series_id, op, day;
