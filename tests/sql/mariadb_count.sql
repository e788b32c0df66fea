/* iostall:mariadb_count */
SELECT COUNT(*) FROM shop.orders
