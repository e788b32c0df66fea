/* iostall:lake_hold */
-- One program moves days at a time; held until its connection ends. The number is this program's: 'lake'.
SELECT pg_try_advisory_lock(1818323813);
