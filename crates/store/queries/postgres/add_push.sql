/* iostall:add_push */
INSERT INTO iostall.push (release, state, ring, rings, failed_max, action) VALUES ($1, 'running', 1, $2, $3, $4)
RETURNING number;
