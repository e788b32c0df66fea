/* iostall:known_sources */
SELECT id::text, appended, last_utc_ns FROM iostall.source WHERE server = $1 ORDER BY number;
