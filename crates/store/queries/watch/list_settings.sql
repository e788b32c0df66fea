/* iostall:list_settings */
-- All that held at some time between the two, both included.
SELECT subject, name, from_utc_ns, to_utc_ns, value, class, is_change
  FROM watch_setting
 WHERE source = :source
   AND from_utc_ns <= :to
   AND coalesce(to_utc_ns, 9223372036854775807) >= :from
 ORDER BY subject, name, from_utc_ns;
