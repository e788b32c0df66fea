/* iostall:0102_name_scopes */

/* What a thing is part of: 0 its source as a whole, 1 a database, 2 the host as a device, 3 a control group. What stood in
   `database` was a database's name, a device's role or a control group's path, whichever it happened to be. */
ALTER TABLE watch_series RENAME COLUMN database TO scope_name;
ALTER TABLE watch_series ADD COLUMN scope INTEGER NOT NULL DEFAULT 0;

/* Kinds: 30 a device of Linux, 31 a device as a control group uses it, 32 pressure, of a control group under its path. */
UPDATE watch_series SET scope_name = name WHERE kind = 32 AND name LIKE '/%';
UPDATE watch_series
   SET scope = CASE WHEN kind = 30 THEN 2
                    WHEN kind IN (31, 32) AND scope_name <> '' THEN 3
                    WHEN scope_name <> '' THEN 1
                    ELSE 0 END;
