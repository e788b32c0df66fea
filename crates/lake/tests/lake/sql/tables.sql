/* iostall:test_tables */
SELECT count(*) FROM iostall.iceberg_tables;
