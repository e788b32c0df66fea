/* iostall:bench_lake_count_rows */
SELECT count(*) FROM iostall.sample_row;
