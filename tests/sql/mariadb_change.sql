/* iostall:mariadb_change */
UPDATE `fill`.plain SET text = 'paid' WHERE id = 7;
