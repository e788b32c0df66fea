/* iostall:test_release_shop */
CREATE DATABASE shop;
CREATE TABLE shop.orders (number integer);
GRANT ALL ON shop.* TO mon@'127.0.0.1';
GRANT SELECT ON mysql.proc TO mon@'127.0.0.1';
