/* iostall:mariadb_ping */
SELECT 1
