/* iostall:lock_source */
SELECT number, name, last_number, rolled_up_to, rolled_up_utc_ns, appended FROM iostall.source WHERE id = $1::text::uuid FOR UPDATE;
