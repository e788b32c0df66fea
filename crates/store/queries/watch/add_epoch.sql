/* iostall:add_epoch */
INSERT INTO watch_epoch (source, document, clock) VALUES (:source, :document, :clock)
ON CONFLICT (source, document, clock) DO NOTHING;
