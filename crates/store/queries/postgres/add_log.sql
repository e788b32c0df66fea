/* iostall:add_log */
INSERT INTO iostall.push_log (operator, what, signed) VALUES ($1, $2, $3);
