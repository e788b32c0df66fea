/* iostall:sample_before */
-- The sample before the first one that was taken after a time. Told by number: a clock that was set back gives later samples
-- earlier times.
SELECT coalesce((SELECT max(number) FROM iostall.sample
                 WHERE source = $1
                   AND number < (SELECT coalesce(min(number), 9223372036854775807) FROM iostall.sample
                                 WHERE source = $1 AND taken_utc_ns > $2)),
                (SELECT min(number) FROM iostall.sample WHERE source = $1), 0);
