/* iostall:find_appended */
SELECT appended FROM watch_source WHERE number = :source;
