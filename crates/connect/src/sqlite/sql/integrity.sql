/* iostall:sqlite_integrity */
-- One row that says ok, or up to twenty that say what is wrong.
PRAGMA integrity_check(20);
