/* iostall:mysql_make_table */
CREATE TABLE shop.t (id INT PRIMARY KEY AUTO_INCREMENT, filler VARCHAR(2000)) ENGINE = InnoDB;
