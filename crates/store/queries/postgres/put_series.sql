/* iostall:put_series */
INSERT INTO iostall.series (id, source, kind, scope, scope_name, identity, name, volume)
SELECT given.id::uuid, $1, given.kind, given.scope, given.scope_name, given.identity, given.name, given.volume
FROM unnest($2::text[], $3::text[], $4::smallint[], $5::text[], $6::text[], $7::text[], $8::text[])
  AS given (id, kind, scope, scope_name, identity, name, volume)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, volume = excluded.volume
RETURNING id::text, number;
