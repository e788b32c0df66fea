/* iostall:test_lake_counts_here */
SELECT count(*) FROM iostall.sample_row;
