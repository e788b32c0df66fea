/* iostall:mariadb_away_more */
INSERT INTO `fill`.away VALUES (3), (4);
