/* iostall:leave_servers */
-- Nobody begins any more. Who has begun already still answers.
UPDATE iostall.push_server SET state = 'left' WHERE push = $1 AND state IN ('waiting', 'asked');
