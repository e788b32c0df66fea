/* iostall:mark_appended */
UPDATE watch_source SET appended = :sequence WHERE number = :source;
