/* iostall:test_tables_in_schema */
SELECT count(*) FROM information_schema.tables WHERE table_schema = 'iostall';
