/* iostall:put_member */
INSERT INTO iostall.member (server, name, state, key_hash, host, version) VALUES ($1, $2, 'joined', $3, $4, $5)
ON CONFLICT (server) DO UPDATE
SET name = excluded.name, state = 'joined', state_since = now(), joined = now(), key_hash = excluded.key_hash, key_made = now(),
    next_key_hash = NULL, host = excluded.host, version = excluded.version,
    instance = NULL, instances_before = '{}', returns = 0, returned = NULL;
