/* iostall:find_seam */
SELECT s.forgot_samples,
       (SELECT min(taken_utc_ns) FROM iostall.sample WHERE source = s.number) AS first_utc_ns,
       s.rolled_up_utc_ns, s.forgot_hours
FROM iostall.source AS s WHERE s.number = $1;
