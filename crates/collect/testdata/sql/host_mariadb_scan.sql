/* iostall:host_mariadb_scan */
SELECT COUNT(*) FROM shop.accounts WHERE filler <> ''
