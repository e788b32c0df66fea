/* iostall:find_by_id */
SELECT *
  FROM run_entry
 WHERE id = :id;
