/* iostall:age_job_runs */
UPDATE job_run
   SET due_utc_ns = due_utc_ns - 360000000000000,
       document   = json_set(document, '$.due', '2026-01-01T00:00:00Z');
