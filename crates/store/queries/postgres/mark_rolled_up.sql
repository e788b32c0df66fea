/* iostall:mark_rolled_up */
UPDATE iostall.source SET rolled_up_to = $2, rolled_up_utc_ns = $3 WHERE number = $1;
