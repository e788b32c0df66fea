/* iostall:add_release_part */
INSERT INTO iostall.release_part (release, number, content) VALUES ($1, $2, $3);
