/* iostall:test_mariadb_collector */
GRANT SELECT ON performance_schema.* TO mon@'127.0.0.1';
