/* iostall:mark_rolled_up */
UPDATE watch_source SET rolled_up_to = :number WHERE number = :source;
