/* iostall:mark_clone */
UPDATE iostall.server SET clone_noticed = now() WHERE number = $1;
