/* iostall:list_run_marks */
SELECT number, id, ended_utc, interrupted
  FROM run
 WHERE number > :after
 ORDER BY number
 LIMIT :most;
