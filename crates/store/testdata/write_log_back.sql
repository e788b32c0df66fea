/* iostall:write_log_back */
PRAGMA wal_checkpoint(TRUNCATE);
