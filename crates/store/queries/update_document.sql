/* iostall:update_document */
UPDATE run_document
   SET encoding = :encoding, document = :document
 WHERE run_number = :run_number;
