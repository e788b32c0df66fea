/* iostall:users_order */
INSERT INTO orders DEFAULT VALUES;
