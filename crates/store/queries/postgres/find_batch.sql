/* iostall:find_batch */
-- Of the samples after a number, at most so many: the first and the last, when the one before them was taken, and when these.
SELECT b.first, b.last,
       (SELECT taken_utc_ns FROM iostall.sample WHERE source = $1 AND number < b.first ORDER BY number DESC LIMIT 1) AS since_utc_ns,
       (SELECT taken_utc_ns FROM iostall.sample WHERE source = $1 AND number = b.first) AS first_utc_ns,
       (SELECT taken_utc_ns FROM iostall.sample WHERE source = $1 AND number = b.last) AS last_utc_ns
FROM (SELECT min(number) AS first, max(number) AS last
      FROM (SELECT number FROM iostall.sample WHERE source = $1 AND number > $2 ORDER BY number LIMIT $3) AS next) AS b;
