/* iostall:list_own_runs */
-- Times are text of one length: the order of the text is that of time.
SELECT kind, name, started_utc, ended_utc, interrupted
  FROM run
 WHERE started_utc < :to
   AND ended_utc >= :from
 ORDER BY started_utc, number;
