/* iostall:put_pushed */
-- An answer of a server. One that comes late, after the push was halted or the server was skipped, still counts.
UPDATE iostall.push_server SET state = $3, reason = $4, reported = now()
WHERE push = $1 AND server = $2
  AND CASE WHEN $5 THEN state IN ('undo', 'undo-failed') ELSE state IN ('asked', 'left', 'skipped') END;
