/* iostall:test_reference_orders */
SELECT heap_blks_read + heap_blks_hit + coalesce(toast_blks_read + toast_blks_hit, 0) FROM pg_statio_all_tables
WHERE relname = 'orders' AND schemaname = 'public';
