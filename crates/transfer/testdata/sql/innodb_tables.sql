/* iostall:innodb_tables */
CREATE DATABASE oracle;
CREATE TABLE oracle.plain (id INT PRIMARY KEY, text VARCHAR(200)) ENGINE=InnoDB;
CREATE TABLE oracle.zip (id INT PRIMARY KEY, text VARCHAR(200)) ENGINE=InnoDB ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4;
CREATE TABLE oracle.packed (id INT PRIMARY KEY, text VARCHAR(200)) ENGINE=InnoDB PAGE_COMPRESSED=1;
INSERT INTO oracle.plain WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT i, REPEAT('row after row ', 10) FROM n;
INSERT INTO oracle.plain SELECT id + 1000, text FROM oracle.plain;
INSERT INTO oracle.plain SELECT id + 2000, text FROM oracle.plain;
INSERT INTO oracle.zip SELECT id, text FROM oracle.plain;
INSERT INTO oracle.packed SELECT id, text FROM oracle.plain;
