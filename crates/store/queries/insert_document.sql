/* iostall:insert_document */
INSERT INTO run_document (run_number, encoding, document)
VALUES (:run_number, :encoding, :document);
