/* iostall:lake_unfinished_sources */
-- Sources whose hours still need a sample of this day.
SELECT s.id::text
FROM iostall.source AS s
WHERE s.rolled_up_to < s.last_number
  AND s.rolled_up_to <= (SELECT max(p.number) FROM iostall.sample AS p WHERE p.source = s.number AND p.taken >= $1 AND p.taken < $2);
