/* iostall:test_samples_from_the_future */
UPDATE watch_sample
   SET taken_utc_ns = taken_utc_ns + 315360000000000000
 WHERE number = (SELECT max(number) FROM watch_sample);
