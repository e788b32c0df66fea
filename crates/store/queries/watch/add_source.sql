/* iostall:add_source */
INSERT INTO watch_source (id, store, name) VALUES (:id, :store, :name) ON CONFLICT (store, name) DO NOTHING;
