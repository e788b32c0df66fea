/* iostall:postgres_reset_database */
SELECT pg_stat_reset();
