/* iostall:use_code */
UPDATE iostall.join_code SET used = now(), used_for = $2 WHERE hash = $1;
