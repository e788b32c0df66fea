/* iostall:0101_add_import_and_days */

/* How far the history of another database was taken over: the next import begins there. */
CREATE TABLE watch_import (
    source        INTEGER PRIMARY KEY REFERENCES watch_source (number) ON DELETE CASCADE,
    /* Number of the last sample in the other database. */
    sample        INTEGER NOT NULL,
    /* The latest time among the samples taken over. */
    taken_utc_ns  INTEGER NOT NULL
) STRICT;

/* Hours before this (seconds since 1970, UTC, the beginning of a day) were deleted by age: days alone tell of them. */
ALTER TABLE watch_source ADD COLUMN forgot_hours_s INTEGER;
