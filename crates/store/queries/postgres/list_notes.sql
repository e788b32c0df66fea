/* iostall:list_notes */
-- The notes about a source, and about all sources of its server. The end of a window belongs to the next one.
SELECT n.at_utc_ns, n.end_utc_ns, n.kind, n.text
FROM iostall.source AS s
JOIN iostall.note AS n ON n.server = s.server AND (n.source = s.number OR n.source IS NULL)
WHERE s.number = $1
  AND n.at_utc_ns < $3
  AND coalesce(n.end_utc_ns, n.at_utc_ns) >= $2
ORDER BY n.at_utc_ns, n.text;
