/* iostall:put_notes */
-- What is noted twice is there once.
INSERT INTO iostall.note (server, source, at_utc_ns, end_utc_ns, kind, text)
SELECT $1, given.source, given.at_utc_ns, given.end_utc_ns, given.kind, given.text
FROM unnest($2::integer[], $3::bigint[], $4::bigint[], $5::text[], $6::text[]) AS given (source, at_utc_ns, end_utc_ns, kind, text)
ON CONFLICT DO NOTHING;
