/* iostall:place_mariadb_moved */
CREATE TABLE shop.moved (id INT) ENGINE = InnoDB DATA DIRECTORY = ':place'
