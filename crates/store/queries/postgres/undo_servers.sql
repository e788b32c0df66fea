/* iostall:undo_servers */
-- A server that was asked and has not answered may have applied it.
UPDATE iostall.push_server SET state = CASE WHEN state = 'waiting' THEN 'left' ELSE 'undo' END, reason = NULL, reported = NULL
WHERE push = $1 AND state IN ('waiting', 'asked', 'skipped', 'applied', 'undo-failed', 'left')
  AND (state NOT IN ('left', 'skipped') OR ring <= $2);
