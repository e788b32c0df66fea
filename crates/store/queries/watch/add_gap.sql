/* iostall:add_gap */
INSERT INTO watch_gap (source, at_utc_ns, beats, reason) VALUES (:source, :at_utc_ns, :beats, :reason)
ON CONFLICT (source, at_utc_ns) DO UPDATE SET beats = excluded.beats, reason = excluded.reason;
