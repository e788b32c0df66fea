/* iostall:list_notes */
SELECT at_utc_ns, text FROM watch_note
-- The end of a window belongs to the next one.
WHERE (source = :source OR source IS NULL) AND at_utc_ns >= :from AND at_utc_ns < :to ORDER BY at_utc_ns, number;
