/* iostall:mariadb_away */
CREATE TABLE `fill`.away (id INT PRIMARY KEY) ENGINE=InnoDB DATA DIRECTORY='PLACE';
INSERT INTO `fill`.away VALUES (1), (2);
FLUSH TABLES `fill`.away FOR EXPORT;
UNLOCK TABLES;
