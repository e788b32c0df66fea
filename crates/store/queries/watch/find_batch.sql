/* iostall:find_batch */
-- Of the samples after a number, at most so many: the first and the last, when the one before them was taken, and when these.
SELECT b.first, b.last,
       (SELECT taken_utc_ns FROM watch_sample
         WHERE number = (SELECT max(number) FROM watch_sample WHERE source = :source AND number < b.first)) AS since_utc_ns,
       (SELECT taken_utc_ns FROM watch_sample WHERE number = b.first) AS first_utc_ns,
       (SELECT taken_utc_ns FROM watch_sample WHERE number = b.last) AS last_utc_ns
FROM (SELECT min(number) AS first, max(number) AS last
      FROM (SELECT number FROM watch_sample WHERE source = :source AND number > :after
            ORDER BY number LIMIT :samples)) AS b;
