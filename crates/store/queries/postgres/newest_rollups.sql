/* iostall:newest_rollups */
-- The newest hour and the newest day of a source that have a row.
SELECT (SELECT beginning FROM iostall.rollup_hour WHERE source = $1 ORDER BY beginning DESC LIMIT 1),
       (SELECT beginning FROM iostall.rollup_day WHERE source = $1 ORDER BY beginning DESC LIMIT 1);
