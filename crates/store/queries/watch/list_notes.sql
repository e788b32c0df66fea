/* iostall:list_notes */
SELECT at_utc_ns, end_utc_ns, kind, text
  FROM watch_note
 WHERE (source = :source OR source IS NULL)
   -- The end of a window belongs to the next one.
   AND at_utc_ns < :to
   AND coalesce(end_utc_ns, at_utc_ns) >= :from
 ORDER BY at_utc_ns, number;
