/* iostall:mariadb_change_more */
UPDATE `fill`.zip SET text = 'paid' WHERE id = 7000;
INSERT INTO `fill`.old VALUES (30000, 'new');
