/* iostall:mark_hours_forgotten */
UPDATE watch_source SET forgot_hours_s = :before_s WHERE number = :source;
