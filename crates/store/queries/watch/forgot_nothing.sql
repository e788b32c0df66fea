/* iostall:forgot_nothing */
SELECT forgot_samples = 0 FROM watch_source WHERE number = :source;
