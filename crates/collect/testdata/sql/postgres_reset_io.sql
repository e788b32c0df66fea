/* iostall:postgres_reset_io */
SELECT pg_stat_reset_shared('io');
