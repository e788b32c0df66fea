/* iostall:put_warning */
INSERT INTO iostall.warning AS w (id, source, message, document, first_utc_ns, last_utc_ns)
VALUES ($1::text::uuid, $2, $3, $4, $5, $6)
ON CONFLICT (id) DO UPDATE
   SET document = excluded.document,
       first_utc_ns = least(w.first_utc_ns, excluded.first_utc_ns),
       last_utc_ns = greatest(w.last_utc_ns, excluded.last_utc_ns);
