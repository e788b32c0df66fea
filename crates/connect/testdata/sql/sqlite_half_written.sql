/* iostall:sqlite_half_written */
-- The cache is too small for the transaction, so pages go into the database before its end.
PRAGMA cache_size = 10;
BEGIN;
UPDATE account SET balance = 7;
