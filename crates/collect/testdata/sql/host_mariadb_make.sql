/* iostall:host_mariadb_make */
CREATE TABLE shop.accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL, filler VARCHAR(400) NOT NULL) ENGINE = InnoDB
