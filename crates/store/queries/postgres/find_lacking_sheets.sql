/* iostall:find_lacking_sheets */
-- Places of the sheets of a server that are not there as they are now.
SELECT given.place - 1
FROM unnest($2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS given (kind, name, state, place)
LEFT JOIN iostall.sheet AS s ON s.server = $1 AND s.kind = given.kind AND s.name = given.name
WHERE s.state IS DISTINCT FROM given.state
ORDER BY given.place;
