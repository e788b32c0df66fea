/* iostall:test_foreign */
CREATE TABLE customer (name TEXT);
INSERT INTO customer VALUES ('precious');
