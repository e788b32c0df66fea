/* iostall:lake_mark_verified */
UPDATE iostall.lake_move SET state = 'verified', sample_rows = $2, hour_rows = $3, file_bytes = $4
WHERE number = $1 AND state = 'writing';
