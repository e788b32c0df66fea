/* iostall:describe_source */
SELECT id, store, name FROM watch_source WHERE id = :id;
