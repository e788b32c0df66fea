/* iostall:drill_orphan */
PRAGMA foreign_keys = off;
INSERT INTO line VALUES (2, 7);
