/* iostall:read_schema */
SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL;
