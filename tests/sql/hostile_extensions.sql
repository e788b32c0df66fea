/* iostall:hostile_extensions */
SELECT count(*) FROM pg_available_extensions;
