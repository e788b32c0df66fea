/* iostall:forgot_nothing */
SELECT NOT forgot_samples FROM iostall.source WHERE number = $1;
