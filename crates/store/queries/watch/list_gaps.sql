/* iostall:list_gaps */
SELECT at_utc_ns, beats, reason FROM watch_gap
WHERE source = :source AND at_utc_ns BETWEEN :from AND :to ORDER BY at_utc_ns;
