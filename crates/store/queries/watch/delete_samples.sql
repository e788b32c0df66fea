/* iostall:delete_samples */
-- Only whole chains, and only what has been rolled up: up to the last whole sample before the limit that is in
-- the roll-ups itself. A later one would leave changes behind whose whole sample is gone.
DELETE FROM watch_sample
WHERE source = :source
  AND number < (SELECT max(number) FROM watch_sample
                WHERE source = :source AND is_whole = 1 AND taken_utc_ns <= :utc_ns
                  AND number <= (SELECT rolled_up_to FROM watch_source WHERE number = :source));
