/* iostall:skip_undo */
-- Those that have not answered have not undone it, as far as anybody knows.
UPDATE iostall.push_server SET state = 'undo-failed', reason = 'it did not answer before the push was ended'
WHERE push = $1 AND state = 'undo';
