/* iostall:test_release_orders */
CREATE ROLE monitor;
CREATE TABLE orders (number integer);
