/* iostall:sqlite_family */
-- A row of a line names an order that is not there.
PRAGMA foreign_keys = off;
CREATE TABLE orders (id INTEGER PRIMARY KEY);
CREATE TABLE line (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders (id));
INSERT INTO orders VALUES (1);
INSERT INTO line VALUES (1, 1), (2, 7);
