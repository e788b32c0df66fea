/* iostall:find_owner */
SELECT server FROM iostall.source WHERE id = $1::text::uuid;
