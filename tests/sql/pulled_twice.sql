/* iostall:test_pulled_twice */
-- Samples that were not taken later than the one before them.
SELECT count(*)
FROM (SELECT s.taken_utc_ns - lag(s.taken_utc_ns) OVER (PARTITION BY s.source ORDER BY s.number) AS since_ns
      FROM iostall.sample AS s) AS intervals
WHERE since_ns <= 0;
