/* iostall:list_warnings */
SELECT document, first_utc_ns, last_utc_ns FROM iostall.warning
WHERE source = $1 AND last_utc_ns >= $2 AND first_utc_ns <= $3 ORDER BY message;
