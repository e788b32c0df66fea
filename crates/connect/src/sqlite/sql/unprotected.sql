/* iostall:sqlite_unprotected */
-- If the copy breaks off it is removed: nobody needs its journal.
PRAGMA journal_mode = off;
PRAGMA synchronous = off;
