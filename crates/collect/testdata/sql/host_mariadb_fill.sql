/* iostall:host_mariadb_fill */
INSERT INTO shop.accounts SELECT seq, 0, REPEAT('x', 400) FROM shop.seq_1_to_100000
