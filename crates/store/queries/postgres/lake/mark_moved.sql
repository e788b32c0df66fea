/* iostall:lake_mark_moved */
UPDATE iostall.lake_move SET state = 'moved', ended = now() WHERE number = $1 AND state = 'verified';
