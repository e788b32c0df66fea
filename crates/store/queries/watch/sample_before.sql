/* iostall:sample_before */
-- The sample before the first one that was taken after a moment. Told by number: a clock that was set back gives later
-- samples earlier times.
SELECT coalesce((SELECT max(number) FROM watch_sample
                 WHERE source = :source
                   AND number < (SELECT coalesce(min(number), 9223372036854775807) FROM watch_sample
                                 WHERE source = :source AND taken_utc_ns > :utc_ns)),
                (SELECT min(number) FROM watch_sample WHERE source = :source), 0);
