/* iostall:change_begin */
BEGIN;
-- Whoever waits for a lock holds up everybody who comes later.
SET LOCAL lock_timeout = '5s';
