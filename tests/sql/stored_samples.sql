/* iostall:stored_samples */
SELECT count(*) FROM watch_sample;
