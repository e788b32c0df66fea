/* iostall:list_warnings */
SELECT document FROM watch_warning
WHERE source = :source AND last_utc_ns >= :from AND first_utc_ns <= :to ORDER BY message;
