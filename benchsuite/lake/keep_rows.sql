/* iostall:bench_lake_keep_rows */
-- Only the rows that are asked for; the first of a series is neither idle nor not.
BEGIN;
CREATE TEMPORARY TABLE marked AS
SELECT source, series, number, body = before AS is_idle
FROM (SELECT source, series, number, body, lag(body) OVER (PARTITION BY source, series ORDER BY number) AS before
        FROM (SELECT source, series, number, to_jsonb(r) - 'taken' - 'number' - 'age_ms' - 'read_clock_ns' AS body
                FROM iostall.sample_row AS r) AS b) AS m;
DELETE FROM iostall.sample_row AS r USING marked AS m
 WHERE m.source = r.source AND m.series = r.series AND m.number = r.number AND (m.is_idle IS NULL OR NOT (:keep));
UPDATE iostall.sample AS p
   SET row_count = (SELECT count(*) FROM iostall.sample_row AS r WHERE r.source = p.source AND r.number = p.number);
COMMIT;
