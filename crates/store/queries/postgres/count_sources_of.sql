/* iostall:count_sources_of */
SELECT count(*) FROM iostall.source WHERE server = $1;
