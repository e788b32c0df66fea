/* iostall:ask_ring */
UPDATE iostall.push_server SET state = 'asked' WHERE push = $1 AND ring = $2 AND state = 'waiting';
