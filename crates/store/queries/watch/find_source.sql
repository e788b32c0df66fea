/* iostall:find_source */
SELECT number FROM watch_source WHERE id = :id;
