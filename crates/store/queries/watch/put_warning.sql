/* iostall:put_warning */
INSERT INTO watch_warning (source, message, document, first_utc_ns, last_utc_ns)
VALUES (:source, :message, :document, :utc_ns, :utc_ns)
ON CONFLICT (source, message) DO UPDATE SET document = excluded.document, last_utc_ns = excluded.last_utc_ns;
