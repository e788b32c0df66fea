/* iostall:put_warning */
INSERT INTO watch_warning (source, message, document, first_utc_ns, last_utc_ns)
VALUES (:source, :message, :document, :first_utc_ns, :last_utc_ns)
ON CONFLICT (source, message) DO UPDATE
   SET document = excluded.document,
       first_utc_ns = min(first_utc_ns, excluded.first_utc_ns),
       last_utc_ns = max(last_utc_ns, excluded.last_utc_ns);
