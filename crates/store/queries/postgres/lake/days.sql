/* iostall:lake_days */
-- The days of stored hours.
SELECT DISTINCT (beginning AT TIME ZONE 'UTC')::date::text AS day FROM iostall.rollup_hour WHERE beginning < $1 ORDER BY day;
