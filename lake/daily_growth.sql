/* iostall:lake_daily_growth */
-- What the files of each source held at the last sample of each day (UTC), and how much more than at the last one before.
WITH last AS (
    SELECT source_id, CAST(taken AS DATE) AS day, max(sample_number) AS sample_number
    FROM samples GROUP BY source_id, CAST(taken AS DATE)
), held AS (
    SELECT s.source_id, s.kind, l.day, max(s.server) AS server, max(s.source) AS source, sum(s.size_bytes) AS bytes
    FROM samples AS s
    JOIN last AS l ON l.source_id = s.source_id AND l.sample_number = s.sample_number AND l.day = CAST(s.taken AS DATE)
    WHERE s.size_bytes IS NOT NULL
    GROUP BY s.source_id, s.kind, l.day
)
SELECT server, source, source_id, kind, day, bytes,
       bytes - lag(bytes) OVER (PARTITION BY source_id, kind ORDER BY day) AS more_bytes
FROM held
ORDER BY server, source, source_id, kind, day;
