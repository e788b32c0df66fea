/* iostall:skip_server */
-- By its name, or by its id where nobody has joined for it any more. One that was to undo has not: a later answer still counts.
UPDATE iostall.push_server AS s
SET state = CASE WHEN s.state = 'undo' THEN 'undo-failed' ELSE 'skipped' END,
    reason = CASE WHEN s.state = 'undo' THEN 'it did not answer, and was skipped' END
WHERE s.push = $1 AND s.state IN ('waiting', 'asked', 'undo')
  AND s.server IN (SELECT v.number FROM iostall.server AS v LEFT JOIN iostall.member AS m ON m.server = v.number
                   WHERE m.name = $2 OR v.id::text = $2);
