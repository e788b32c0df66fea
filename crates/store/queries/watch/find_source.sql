/* iostall:find_source */
SELECT number, rolled_up_to FROM watch_source WHERE name = :name;
