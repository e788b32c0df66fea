/* iostall:sqlite_only_in_log */
PRAGMA wal_autocheckpoint = 0;
UPDATE account SET balance = 1 WHERE id <= 10;
