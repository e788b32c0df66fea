/* iostall:test_newest_source */
SELECT id FROM iostall.source ORDER BY number DESC LIMIT 1;
