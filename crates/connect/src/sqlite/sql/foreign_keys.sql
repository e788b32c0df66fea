/* iostall:sqlite_foreign_keys */
-- A row for each row whose parent is missing: its table, its number, and the parent's table.
PRAGMA foreign_key_check;
