/* iostall:mariadb_order */
INSERT INTO shop.orders (text) VALUES (REPEAT('an order ', 20));
