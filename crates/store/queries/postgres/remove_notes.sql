/* iostall:remove_notes */
DELETE FROM iostall.note AS n
USING unnest($2::integer[], $3::bigint[], $4::bigint[], $5::text[], $6::text[]) AS given (source, at_utc_ns, end_utc_ns, kind, text)
WHERE n.server = $1
  AND n.source IS NOT DISTINCT FROM given.source
  AND n.at_utc_ns = given.at_utc_ns
  AND n.end_utc_ns IS NOT DISTINCT FROM given.end_utc_ns
  AND n.kind = given.kind
  AND n.text = given.text;
