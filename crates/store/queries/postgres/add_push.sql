/* iostall:add_push */
INSERT INTO iostall.push (release, state, ring, rings, failed_max) VALUES ($1, 'running', 1, $2, $3)
RETURNING number;
