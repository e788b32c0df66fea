/* iostall:find_lacking_runs */
-- Runs of a server that are not there and not too old, or there as they were before they were complete.
SELECT given.id::text
FROM unnest($2::text[]::uuid[], $3::bigint[], $4::boolean[]) WITH ORDINALITY AS given (id, ended_utc_ns, interrupted, place)
LEFT JOIN iostall.run AS r ON r.server = $1 AND r.id = given.id
WHERE given.ended_utc_ns >= (SELECT runs_forgotten_utc_ns FROM iostall.repository)
  AND (r.id IS NULL OR (r.interrupted AND (NOT given.interrupted OR given.ended_utc_ns > r.ended_utc_ns)))
ORDER BY given.place;
