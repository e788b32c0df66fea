/* iostall:take_next_key */
UPDATE iostall.member SET key_hash = next_key_hash, next_key_hash = NULL, key_made = now()
WHERE server = $1 AND next_key_hash = $2;
