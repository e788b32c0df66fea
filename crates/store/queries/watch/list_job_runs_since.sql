/* iostall:list_job_runs_since */
-- A run begins when it is due or later, and most begin at once.
SELECT document
  FROM job_run
 WHERE due_utc_ns >= :from
   AND due_utc_ns < :to
 ORDER BY due_utc_ns, job;
