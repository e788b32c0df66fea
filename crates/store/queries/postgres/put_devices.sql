/* iostall:put_devices */
INSERT INTO iostall.device AS d (kind, identity, model)
SELECT DISTINCT ON (given.kind, given.identity) given.kind, given.identity, given.model
FROM unnest($1::text[], $2::text[], $3::text[]) AS given (kind, identity, model)
ORDER BY given.kind, given.identity
-- The first that names its model is right for all: no other server may rename it.
ON CONFLICT (kind, identity) DO UPDATE SET model = coalesce(d.model, excluded.model);
