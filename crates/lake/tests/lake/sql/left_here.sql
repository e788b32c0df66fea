/* iostall:test_lake_left_here */
SELECT (SELECT min(taken) >= '2026-03-03' FROM iostall.sample_row), (SELECT min(beginning) >= '2026-03-03' FROM iostall.rollup_hour),
       to_regclass('iostall.sample_2026_03_01') IS NULL;
