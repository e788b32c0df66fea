/* iostall:test_count_series */
SELECT count(*) FROM watch_series;
