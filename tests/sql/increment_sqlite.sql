/* iostall:increment_sqlite */
PRAGMA journal_mode = wal;
CREATE TABLE orders (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
WITH RECURSIVE number(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM number WHERE id < 20000)
INSERT INTO orders SELECT id, printf('order %d of the shop: %s', id, hex(id * 7919)) FROM number;
