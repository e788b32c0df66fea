/* iostall:mysql_fill_table */
INSERT INTO shop.t (filler) SELECT REPEAT('x', 2000) FROM information_schema.columns LIMIT 2000;
