/* iostall:list_log */
SELECT number, at, operator, what, signed FROM iostall.push_log ORDER BY number;
