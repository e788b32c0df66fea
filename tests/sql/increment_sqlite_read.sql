/* iostall:increment_sqlite_read */
SELECT text FROM orders WHERE id = 7
