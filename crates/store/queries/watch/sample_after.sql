/* iostall:sample_after */
-- The first sample taken at a moment or after it, else the last before it.
SELECT coalesce((SELECT min(number) FROM watch_sample WHERE source = :source AND taken_utc_ns >= :utc_ns),
                (SELECT max(number) FROM watch_sample WHERE source = :source), 0);
