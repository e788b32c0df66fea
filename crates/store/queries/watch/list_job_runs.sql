/* iostall:list_job_runs */
SELECT document
  FROM job_run
 WHERE job = :job
 ORDER BY due_utc_ns DESC
 LIMIT :most;
