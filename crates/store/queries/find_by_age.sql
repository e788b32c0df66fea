/* iostall:find_by_age */
/* :age 0 is the newest run, 1 the one before it. */
SELECT *
  FROM run_entry
 ORDER BY started_utc DESC, number DESC
 LIMIT 1 OFFSET :age;
