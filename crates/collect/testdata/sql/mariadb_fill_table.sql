/* iostall:mariadb_fill_table */
INSERT INTO shop.t (filler) SELECT REPEAT('x', 500) FROM shop.seq_1_to_20000
