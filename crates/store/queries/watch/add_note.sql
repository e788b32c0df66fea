/* iostall:add_note */
-- What is noted twice is there once.
INSERT INTO watch_note (source, at_utc_ns, text)
SELECT :source, :at_utc_ns, :text
WHERE NOT EXISTS (SELECT 1 FROM watch_note WHERE source IS :source AND at_utc_ns = :at_utc_ns AND text = :text);
