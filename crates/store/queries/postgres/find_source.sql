/* iostall:find_source */
SELECT number FROM iostall.source WHERE id = $1::text::uuid;
