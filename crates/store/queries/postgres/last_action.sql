/* iostall:last_action */
SELECT signed FROM iostall.push_log WHERE signed IS NOT NULL ORDER BY number DESC LIMIT 1;
