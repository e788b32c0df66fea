/* iostall:list_gaps */
SELECT at_utc_ns, beats, reason FROM watch_gap
-- The end of a window belongs to the next one.
WHERE source = :source AND at_utc_ns >= :from AND at_utc_ns < :to ORDER BY at_utc_ns;
