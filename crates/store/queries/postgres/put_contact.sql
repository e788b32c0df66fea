/* iostall:put_contact */
UPDATE iostall.member SET last_contact = now(), host = $2, version = $3, clock_ahead_ms = $4 WHERE server = $1;
