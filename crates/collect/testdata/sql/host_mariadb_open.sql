/* iostall:host_mariadb_open */
SELECT id FROM shop.accounts LIMIT 1
