/* iostall:mark_forgotten */
UPDATE watch_source SET forgot_samples = 1 WHERE number = :source;
