/* iostall:sqlite_transfer */
BEGIN IMMEDIATE;
UPDATE account SET balance = balance - 1 WHERE id = :from;
UPDATE account SET balance = balance + 1 WHERE id = 20000 - :from;
COMMIT;
