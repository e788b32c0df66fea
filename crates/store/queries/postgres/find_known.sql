/* iostall:find_known */
SELECT number, server, appended, last_number FROM iostall.source WHERE id = $1::text::uuid;
