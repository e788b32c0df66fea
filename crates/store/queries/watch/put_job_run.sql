/* iostall:put_job_run */
INSERT INTO job_run (job, due_utc_ns, outcome, document)
VALUES (:job, :due_utc_ns, :outcome, :document)
ON CONFLICT (job, due_utc_ns) DO UPDATE
   SET outcome  = excluded.outcome,
       document = excluded.document;
