/* iostall:delete_note */
DELETE FROM watch_note WHERE number = :number;
