/* iostall:postgres_table_blocks */
SELECT heap_blks_read + heap_blks_hit FROM pg_statio_all_tables WHERE relname = 't';
