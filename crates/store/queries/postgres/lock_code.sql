/* iostall:lock_code */
SELECT server_name, expires > now(), used_for FROM iostall.join_code WHERE hash = $1 FOR UPDATE;
