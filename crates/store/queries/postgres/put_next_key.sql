/* iostall:put_next_key */
UPDATE iostall.member SET next_key_hash = $2 WHERE server = $1;
