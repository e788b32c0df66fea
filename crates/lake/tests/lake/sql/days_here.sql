/* iostall:test_lake_days_here */
SELECT count(*), sum(reads) FROM iostall.rollup_day;
