/* iostall:sqlite_accounts */
CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER, filler BLOB);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
INSERT INTO account SELECT i, 0, randomblob(300) FROM n;
