/* iostall:read_samples */
-- From the last whole sample at or before :from, so that every body can be read.
SELECT s.number, s.taken_utc_ns, s.clock_ns, s.uptime_s, s.is_whole, s.body, e.document, e.clock
FROM watch_sample AS s JOIN watch_epoch AS e ON e.number = s.epoch
WHERE s.source = :source
  AND s.number >= coalesce((SELECT max(number) FROM watch_sample
                            WHERE source = :source AND number <= :from AND is_whole = 1), 0)
  AND s.number <= :to
ORDER BY s.number;
