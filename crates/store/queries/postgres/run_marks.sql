/* iostall:run_marks */
SELECT id::text, ended_utc_ns, interrupted FROM iostall.run WHERE server = $1 ORDER BY number, id;
