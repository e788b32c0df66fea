/* iostall:sample_before */
-- The last sample taken before a moment, else the first after it.
SELECT coalesce((SELECT max(number) FROM watch_sample WHERE source = :source AND taken_utc_ns <= :utc_ns),
                (SELECT min(number) FROM watch_sample WHERE source = :source), 0);
