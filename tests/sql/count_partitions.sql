/* iostall:test_count_partitions */
SELECT count(*) FROM pg_class WHERE relispartition AND relkind = 'r';
