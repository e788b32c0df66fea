/* iostall:put_series */
INSERT INTO watch_series (source, kind, scope, scope_name, identity, name, volume)
VALUES (:source, :kind, :scope, :scope_name, :identity, :name, :volume)
ON CONFLICT (source, kind, scope_name, identity) DO UPDATE SET name = excluded.name, volume = excluded.volume
RETURNING number;
