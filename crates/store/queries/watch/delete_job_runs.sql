/* iostall:delete_job_runs */
DELETE FROM job_run
 WHERE job = :job
   AND due_utc_ns <= (SELECT due_utc_ns
                        FROM job_run
                       WHERE job = :job
                       ORDER BY due_utc_ns DESC
                       LIMIT 1 OFFSET :most);
