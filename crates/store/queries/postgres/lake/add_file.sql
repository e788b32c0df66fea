/* iostall:lake_add_file */
INSERT INTO iostall.lake_file (move, path) VALUES ($1, $2);
