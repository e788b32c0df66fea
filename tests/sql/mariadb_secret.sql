/* iostall:mariadb_secret */
CREATE TABLE `fill`.secret (id INT PRIMARY KEY, text VARCHAR(500)) ENGINE=InnoDB ENCRYPTED=YES ENCRYPTION_KEY_ID=1;
INSERT INTO `fill`.secret SELECT * FROM `fill`.plain;
