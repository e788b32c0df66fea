/* iostall:find_by_number */
SELECT *
  FROM run_entry
 WHERE number = :number;
