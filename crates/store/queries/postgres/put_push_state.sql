/* iostall:put_push_state */
UPDATE iostall.push SET state = $2, ring = $3, changed = now() WHERE number = $1;
