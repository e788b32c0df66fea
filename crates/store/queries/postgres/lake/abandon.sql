/* iostall:lake_abandon */
UPDATE iostall.lake_move SET state = 'abandoned', ended = now() WHERE number = $1 AND state IN ('writing', 'verified');
