/* iostall:put_state */
INSERT INTO collector_state (name, document)
VALUES (:name, :document)
ON CONFLICT (name) DO UPDATE
   SET document = excluded.document;
