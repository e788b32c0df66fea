/* iostall:find_appended */
SELECT appended FROM iostall.source WHERE number = $1;
