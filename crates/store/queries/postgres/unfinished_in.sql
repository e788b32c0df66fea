/* iostall:unfinished_in */
-- Sources whose roll-ups still need a sample of this partition.
SELECT s.id::text
FROM iostall.source AS s
WHERE s.rolled_up_to < s.last_number
  AND s.rolled_up_to <= (SELECT max(p.number) FROM {partition} AS p WHERE p.source = s.number);
