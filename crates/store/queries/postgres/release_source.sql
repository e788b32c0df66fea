/* iostall:release_source */
SELECT pg_advisory_unlock(hashtextextended('iostall pull ' || ($1::text::uuid)::text, 0));
