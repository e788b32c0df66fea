/* iostall:test_pulled_seconds */
-- In how many of the five seconds of an interval the many are read.
SELECT count(DISTINCT (s.taken_utc_ns / 1000000000) % 5)
FROM iostall.sample AS s JOIN iostall.source AS o ON o.number = s.source WHERE o.name LIKE 'many %';
