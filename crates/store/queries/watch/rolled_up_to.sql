/* iostall:rolled_up_to */
SELECT rolled_up_to FROM watch_source WHERE number = :source;
