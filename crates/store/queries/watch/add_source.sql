/* iostall:add_source */
INSERT INTO watch_source (name) VALUES (:name) ON CONFLICT (name) DO NOTHING;
