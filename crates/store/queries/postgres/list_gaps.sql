/* iostall:list_gaps */
SELECT at_utc_ns, missed, reason FROM iostall.gap
-- The end of a window belongs to the next one.
WHERE source = $1 AND at_utc_ns >= $2 AND at_utc_ns < $3 ORDER BY at_utc_ns;
