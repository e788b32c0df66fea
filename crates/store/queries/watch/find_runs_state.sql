/* iostall:find_runs_state */
SELECT count(*) || ' ' || ifnull(max(number), 0) || ' ' || ifnull(max(ended_utc), '') || ' ' || ifnull(sum(interrupted), 0)
    AS state
  FROM run;
