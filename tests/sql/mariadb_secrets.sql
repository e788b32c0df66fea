/* iostall:mariadb_secrets */
SELECT COUNT(*), SUM(LENGTH(text)) FROM `fill`.secret
