/* iostall:place_mariadb_kept */
CREATE TABLE shop.kept (id INT) ENGINE = InnoDB
