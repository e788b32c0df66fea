/* iostall:delete_old_gaps */
DELETE FROM iostall.gap WHERE at_utc_ns < $1;
