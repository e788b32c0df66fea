/* iostall:hold_for_transaction */
-- Whether nobody else holds a source. It stays so until the end of the transaction.
SELECT pg_try_advisory_xact_lock(hashtextextended('iostall pull ' || ($1::text::uuid)::text, 0));
