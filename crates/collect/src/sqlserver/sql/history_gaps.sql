/* iostall:history_gaps */
-- Beats without a sample in runs of one filter, later than @P1 and not later than @P2 (milliseconds since 1970, UTC).
SELECT CONVERT(bigint, DATEDIFF(day, CONVERT(datetime2(3), '1970-01-01'), g.at_utc)) * 86400000
         + DATEDIFF(millisecond, CONVERT(datetime2(3), CONVERT(date, g.at_utc)), g.at_utc) AS at_ms,
       g.beats,
       g.message
FROM iostall.event AS g
INNER JOIN iostall.run AS r ON r.run_id = g.run_id
WHERE g.beats > 0
  AND g.at_utc > DATEADD(millisecond, CONVERT(int, @P1 % 86400000),
                         DATEADD(day, CONVERT(int, @P1 / 86400000), CONVERT(datetime2(3), '1970-01-01')))
  AND g.at_utc <= DATEADD(millisecond, CONVERT(int, @P2 % 86400000),
                          DATEADD(day, CONVERT(int, @P2 / 86400000), CONVERT(datetime2(3), '1970-01-01')))
  AND ISNULL(r.filter_text, N'') = @P3 COLLATE Latin1_General_BIN2
ORDER BY g.event_id;
