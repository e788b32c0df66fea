/* iostall:test_lake_counts_there */
SELECT (SELECT count(*) FROM samples), (SELECT count(*) FROM hours), (SELECT count(DISTINCT series_id || hour::text) FROM hours);
