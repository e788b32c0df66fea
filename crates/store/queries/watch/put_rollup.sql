/* iostall:put_rollup */
INSERT INTO watch_rollup (tier, beginning_s, series, body) VALUES (:tier, :beginning_s, :series, :body)
ON CONFLICT (tier, beginning_s, series) DO UPDATE SET body = excluded.body;
