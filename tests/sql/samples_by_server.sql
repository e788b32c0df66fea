/* iostall:test_samples_by_server */
-- Of each source: the number of its last batch, samples, rows, rows that are there once, rows that are not as they were sent, and what
-- was read by the roll-ups of hours and by those of days.
WITH row AS (
    SELECT r.*, substring(f.name FROM '([0-9]+)[.]mdf$')::bigint AS file
    FROM iostall.sample_row AS r JOIN iostall.series AS f ON f.number = r.series
), rows AS (
    SELECT source, count(*) AS rows, count(DISTINCT (number, series)) AS once,
           count(*) FILTER (WHERE (reads, read_bytes, read_stall, writes, write_bytes, write_stall, size_bytes, handle)
               IS DISTINCT FROM (5000000 + number * (600 + 7 * file), (5000000 + number * (600 + 7 * file)) * 16384,
                                 number * (600 + 7 * file) * 900000, 2000000 + number * (250 + 3 * file),
                                 (2000000 + number * (250 + 3 * file)) * 8192, number * (250 + 3 * file) * 400000,
                                 (100 + file) * 1073741824, 2146435072 + file)) AS wrong
    FROM row GROUP BY source
), hours AS (
    SELECT source, sum(reads) AS reads FROM iostall.rollup_hour GROUP BY source
), days AS (
    SELECT source, sum(reads) AS reads FROM iostall.rollup_day GROUP BY source
)
SELECT o.appended, (SELECT count(DISTINCT number) FROM iostall.sample AS s WHERE s.source = o.number), rows.rows, rows.once, rows.wrong,
       coalesce(hours.reads, 0), coalesce(days.reads, 0)
FROM iostall.source AS o
JOIN rows ON rows.source = o.number
LEFT JOIN hours ON hours.source = o.number
LEFT JOIN days ON days.source = o.number
ORDER BY o.id;
