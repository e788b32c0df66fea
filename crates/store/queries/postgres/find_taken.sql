/* iostall:find_taken */
SELECT taken_utc_ns FROM iostall.sample WHERE source = $1 AND number = $2;
