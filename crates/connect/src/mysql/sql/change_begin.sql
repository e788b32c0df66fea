/* iostall:change_begin */
SET SESSION lock_wait_timeout = 5
