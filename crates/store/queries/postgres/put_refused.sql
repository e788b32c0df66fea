/* iostall:put_refused */
UPDATE iostall.member SET refused = $2, refused_at = now() WHERE server = $1;
