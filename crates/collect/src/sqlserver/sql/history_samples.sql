/* iostall:history_samples */
-- Samples of one filter in the order they were taken: those numbered above @P1, and those later than @P2 (milliseconds
-- since 1970, UTC). After the clock was set back only the numbers go on rising; in a database made anew only the times.
SELECT TOP (500)
       s.sample_id,
       CONVERT(bigint, DATEDIFF(day, CONVERT(datetime2(3), '1970-01-01'), s.taken_utc)) * 86400000
         + DATEDIFF(millisecond, CONVERT(datetime2(3), CONVERT(date, s.taken_utc)), s.taken_utc) AS taken_ms,
       s.ticks_ms,
       CONVERT(bigint, s.files)    AS files,
       e.instance_name             AS instance,
       CONVERT(bigint, e.version)  AS version,
       e.start_ticks_ms            AS start_ms
FROM iostall.sample AS s
INNER JOIN iostall.epoch AS e ON e.epoch_id = s.epoch_id
WHERE (s.sample_id > @P1
       OR s.taken_utc > DATEADD(millisecond, CONVERT(int, @P2 % 86400000),
                                DATEADD(day, CONVERT(int, @P2 / 86400000), CONVERT(datetime2(3), '1970-01-01'))))
  AND ISNULL(s.filter_text, N'') = @P3 COLLATE Latin1_General_BIN2
ORDER BY s.sample_id;
