/* iostall:wait_shortly */
-- Whoever reads the table is waited for, and whoever comes later waits for us: not for long.
SET LOCAL lock_timeout = '5s';
