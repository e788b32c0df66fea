/* iostall:list_settings */
-- All that held at some time between the two, both included.
SELECT subject, name, from_utc_ns, to_utc_ns, value, class, is_change
FROM iostall.setting
WHERE source = $1
  AND from_utc_ns <= $3
  AND coalesce(to_utc_ns, 9223372036854775807) >= $2
ORDER BY subject COLLATE "C", name COLLATE "C", from_utc_ns;
