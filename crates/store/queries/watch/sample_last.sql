/* iostall:sample_last */
SELECT coalesce(max(number), 0) FROM watch_sample WHERE source = :source AND taken_utc_ns <= :utc_ns;
