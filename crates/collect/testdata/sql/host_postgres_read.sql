/* iostall:host_postgres_read */
SELECT sum(read_bytes)::bigint FROM pg_stat_io;
