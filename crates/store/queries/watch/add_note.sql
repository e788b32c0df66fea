/* iostall:add_note */
-- What is noted twice is there once.
INSERT INTO watch_note (source, at_utc_ns, end_utc_ns, kind, text)
SELECT :source, :at_utc_ns, :end_utc_ns, :kind, :text
 WHERE NOT EXISTS (SELECT 1
                     FROM watch_note
                    WHERE source IS :source
                      AND at_utc_ns = :at_utc_ns
                      AND end_utc_ns IS :end_utc_ns
                      AND kind = :kind
                      AND text = :text);
