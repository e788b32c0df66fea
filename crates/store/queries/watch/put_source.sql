/* iostall:put_source */
INSERT INTO watch_source (id, store, name) VALUES (:id, :store, :name)
ON CONFLICT (id) DO UPDATE SET name = excluded.name
RETURNING number;
