/* iostall:increment_sqlite_change */
UPDATE orders SET text = 'paid' WHERE id = 7;
