/* iostall:mariadb_away_count */
SELECT COUNT(*) FROM `fill`.away
