/* iostall:postgres_backend */
SELECT pg_backend_pid();
