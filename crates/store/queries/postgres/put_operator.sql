/* iostall:put_operator */
INSERT INTO iostall.operator (key, name, role) VALUES ($1, $2, $3)
ON CONFLICT (key) DO UPDATE SET name = excluded.name, role = excluded.role, since = now();
