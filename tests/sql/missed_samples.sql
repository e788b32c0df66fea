/* iostall:missed_samples */
SELECT coalesce(sum(beats), 0) FROM watch_gap;
