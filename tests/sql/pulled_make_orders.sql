/* iostall:test_pulled_make_orders */
CREATE TABLE orders AS SELECT i, repeat('x', 100) AS text FROM generate_series(1, 20000) AS i;
