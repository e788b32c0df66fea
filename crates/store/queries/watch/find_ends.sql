/* iostall:find_ends */
SELECT s.rolled_up_to, coalesce((SELECT max(number) FROM watch_sample WHERE source = s.number), 0)
FROM watch_source AS s WHERE s.number = :source;
