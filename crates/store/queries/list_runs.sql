/* iostall:list_runs */
SELECT *
  FROM run_entry
 WHERE (:kind IS NULL OR kind = :kind)
   AND (:name IS NULL OR name = :name)
   AND (:since IS NULL OR started_utc >= :since)
   AND (:until IS NULL OR started_utc < :until)
   AND (:target IS NULL
        OR EXISTS (SELECT 1
                     FROM run_target
                    WHERE run_number = run_entry.number
                      AND (instr(path, :target) > 0
                           OR instr(device, :target) > 0
                           OR instr(device_model, :target) > 0)))
 ORDER BY started_utc DESC, number DESC
 /* LIMIT -1 is no limit. */
 LIMIT :limit;
