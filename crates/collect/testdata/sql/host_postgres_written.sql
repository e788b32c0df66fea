/* iostall:host_postgres_written */
SELECT (sum(write_bytes) + sum(extend_bytes))::bigint FROM pg_stat_io;
