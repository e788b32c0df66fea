/* iostall:mariadb_drop_table */
DROP TABLE shop.t
