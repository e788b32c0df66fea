/* iostall:list_warnings */
SELECT document, first_utc_ns, last_utc_ns FROM watch_warning
WHERE source = :source AND last_utc_ns >= :from AND first_utc_ns <= :to ORDER BY message;
