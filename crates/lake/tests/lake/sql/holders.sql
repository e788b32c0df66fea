/* iostall:test_holders */
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
