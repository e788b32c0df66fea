/* iostall:undo_servers */
-- A server that was asked and has not answered may have applied it.
UPDATE iostall.push_server SET state = CASE WHEN state = 'waiting' THEN 'left' ELSE 'undo' END, reason = NULL, reported = NULL
WHERE push = $1 AND state IN ('waiting', 'asked', 'applied', 'undo-failed', 'left') AND (state <> 'left' OR ring <= $2);
