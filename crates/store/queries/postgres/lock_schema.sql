/* iostall:lock_schema */
-- Two who make or change tables at once wait for each other. The number is this program's: 'iost'.
SELECT pg_advisory_xact_lock(1768911732);
