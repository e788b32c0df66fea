/* iostall:0103_identify_by_uuid */

/* What this store is called wherever its history goes: one row, a UUID, lower case with hyphens. */
CREATE TABLE store_identity (
    only_row      INTEGER PRIMARY KEY CHECK (only_row = 1),
    id            TEXT    NOT NULL CHECK (length(id) = 36)
) STRICT;

INSERT INTO store_identity (only_row, id)
SELECT 1, substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-4' || substr(h, 14, 3) || '-8' || substr(h, 18, 3) || '-' || substr(h, 21)
  FROM (SELECT lower(hex(randomblob(16))) AS h);

/* Sources are called by UUIDs too, and their names are told apart by the stores they are sampled into: two hosts may each have
   a source `linux:`. SQLite cannot drop the old UNIQUE of the name, so the table is made again under the same name;
   foreign keys are off meanwhile. A series needs no UUID of its own: it follows from that of its source and from what it is. */
CREATE TABLE watch_source_by_uuid (
    number         INTEGER PRIMARY KEY,
    id             TEXT    NOT NULL UNIQUE CHECK (length(id) = 36),
    /* The store that it is sampled into. */
    store          TEXT    NOT NULL CHECK (length(store) = 36),
    /* Its URL without login, password and transport. */
    name           TEXT    NOT NULL,
    /* The last sample whose difference to the one before is in watch_rollup. */
    rolled_up_to   INTEGER NOT NULL DEFAULT 0,
    /* 1: samples were deleted by age, so that older roll-ups cannot be made anew. */
    forgot_samples INTEGER NOT NULL DEFAULT 0 CHECK (forgot_samples IN (0, 1)),
    /* Hours before this (seconds since 1970, UTC, the beginning of a day) were deleted by age: days alone tell of them. */
    forgot_hours_s INTEGER,
    /* The number of the last batch that was appended: one with this number or a lower one is there already. */
    appended       INTEGER NOT NULL DEFAULT 0,
    UNIQUE (store, name)
) STRICT;

INSERT INTO watch_source_by_uuid (number, id, store, name, rolled_up_to, forgot_samples, forgot_hours_s)
SELECT number,
       substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-4' || substr(h, 14, 3) || '-8' || substr(h, 18, 3) || '-' || substr(h, 21),
       (SELECT id FROM store_identity), name, rolled_up_to, forgot_samples, forgot_hours_s
  FROM (SELECT *, lower(hex(randomblob(16))) AS h FROM watch_source);

DROP TABLE watch_source;
ALTER TABLE watch_source_by_uuid RENAME TO watch_source;
