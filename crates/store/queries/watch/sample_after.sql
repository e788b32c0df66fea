/* iostall:sample_after */
-- The sample after the last one that was taken before a moment. Told by number: a clock that was set back gives later
-- samples earlier times.
SELECT coalesce((SELECT min(number) FROM watch_sample
                 WHERE source = :source
                   AND number > (SELECT coalesce(max(number), 0) FROM watch_sample
                                 WHERE source = :source AND taken_utc_ns < :utc_ns)),
                (SELECT max(number) FROM watch_sample WHERE source = :source), 0);
