/* iostall:find_seam */
SELECT s.forgot_samples,
       (SELECT min(taken_utc_ns) FROM watch_sample WHERE source = s.number) AS first_utc_ns,
       (SELECT taken_utc_ns FROM watch_sample WHERE source = s.number AND number = s.rolled_up_to) AS rolled_up_utc_ns,
       s.forgot_hours_s
FROM watch_source AS s WHERE s.number = :source;
