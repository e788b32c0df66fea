/* iostall:add_code */
INSERT INTO iostall.join_code (hash, server_name, expires) VALUES ($1, $2, now() + make_interval(secs => $3));
