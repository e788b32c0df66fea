/* iostall:put_series */
INSERT INTO watch_series (source, kind, database, identity, name, volume)
VALUES (:source, :kind, :database, :identity, :name, :volume)
ON CONFLICT (source, kind, database, identity) DO UPDATE SET name = excluded.name, volume = excluded.volume
RETURNING number;
