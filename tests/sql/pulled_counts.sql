/* iostall:test_pulled_counts */
-- The fewest samples of one of the few sources that answer, the fewest of one of the many, and how many of both there are.
SELECT min(n) FILTER (WHERE name LIKE 'few %') || '|' || min(n) FILTER (WHERE name LIKE 'many %') || '|' || count(*)
FROM (SELECT o.name, (SELECT count(*) FROM iostall.sample AS s WHERE s.source = o.number) AS n FROM iostall.source AS o) AS counted
WHERE name LIKE 'few %' OR name LIKE 'many %';
