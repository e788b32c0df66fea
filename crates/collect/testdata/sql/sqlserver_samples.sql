/* iostall:test_sqlserver_samples */
SELECT COUNT_BIG(*) FROM iostall.sample;
