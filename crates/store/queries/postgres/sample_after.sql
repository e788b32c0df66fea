/* iostall:sample_after */
-- The sample after the last one that was taken before a time. Told by number: a clock that was set back gives later samples
-- earlier times.
SELECT coalesce((SELECT min(number) FROM iostall.sample
                 WHERE source = $1
                   AND number > (SELECT coalesce(max(number), 0) FROM iostall.sample
                                 WHERE source = $1 AND taken_utc_ns < $2)),
                (SELECT max(number) FROM iostall.sample WHERE source = $1), 0);
