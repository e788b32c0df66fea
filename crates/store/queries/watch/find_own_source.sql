/* iostall:find_own_source */
SELECT number, id, store, name FROM watch_source WHERE store = :store AND name = :name;
