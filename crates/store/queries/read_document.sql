/* iostall:read_document */
SELECT encoding, document
  FROM run_document
 WHERE run_number = :run_number;
