/* iostall:0107_keep_notes */

/* What people or programs noted, such as a deployment, to be read beside the stall. */
CREATE TABLE watch_note (
    /* AUTOINCREMENT: the number of a removed note is never given to another, so that removing one twice removes no other. */
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    /* What it is about; NULL: all sources. */
    source     INTEGER REFERENCES watch_source (number) ON DELETE CASCADE,
    at_utc_ns  INTEGER NOT NULL,
    /* NULL where it took no time. */
    end_utc_ns INTEGER,
    kind       TEXT    NOT NULL,
    text       TEXT    NOT NULL
);

CREATE INDEX watch_note_by_time ON watch_note (at_utc_ns);
