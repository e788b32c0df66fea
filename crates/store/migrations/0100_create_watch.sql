/* iostall:0100_create_watch */

/* One row a monitored source. */
CREATE TABLE watch_source (
    number        INTEGER PRIMARY KEY,
    /* Its URL without login, password and transport. */
    name          TEXT    NOT NULL UNIQUE,
    /* The last sample whose difference to the one before is in watch_rollup. */
    rolled_up_to  INTEGER NOT NULL DEFAULT 0,
    /* 1: samples were deleted by age, so that older roll-ups cannot be made anew. */
    forgot_samples INTEGER NOT NULL DEFAULT 0 CHECK (forgot_samples IN (0, 1))
) STRICT;

/* What must be the same for samples to be compared, and the clock that timed them: JSON. */
CREATE TABLE watch_epoch (
    number        INTEGER PRIMARY KEY,
    source        INTEGER NOT NULL REFERENCES watch_source (number) ON DELETE CASCADE,
    document      TEXT    NOT NULL,
    clock         TEXT    NOT NULL,
    UNIQUE (source, document, clock)
) STRICT;

/* One row a watched thing: what it is never changes, what it is called may. */
CREATE TABLE watch_series (
    number        INTEGER PRIMARY KEY,
    source        INTEGER NOT NULL REFERENCES watch_source (number) ON DELETE CASCADE,
    kind          INTEGER NOT NULL,
    database      TEXT    NOT NULL,
    identity      TEXT    NOT NULL,
    name          TEXT    NOT NULL,
    volume        TEXT,
    UNIQUE (source, kind, database, identity)
) STRICT;

/* One row a sample: cumulative values as read. See docs/formats.md for the body. */
CREATE TABLE watch_sample (
    number        INTEGER PRIMARY KEY AUTOINCREMENT,
    source        INTEGER NOT NULL REFERENCES watch_source (number) ON DELETE CASCADE,
    epoch         INTEGER NOT NULL REFERENCES watch_epoch (number),
    /* Nanoseconds since 1970, UTC: for calendars, never subtracted. */
    taken_utc_ns  INTEGER NOT NULL,
    /* Nanoseconds on the epoch's clock. */
    clock_ns      INTEGER NOT NULL,
    uptime_s      INTEGER,
    /* 1: the body holds every row; 0: only what changed since the sample before. */
    is_whole      INTEGER NOT NULL CHECK (is_whole IN (0, 1)),
    body          BLOB    NOT NULL
) STRICT;

CREATE INDEX watch_sample_by_source ON watch_sample (source, number);
CREATE INDEX watch_sample_by_time ON watch_sample (source, taken_utc_ns);

/* Beats without a sample. */
CREATE TABLE watch_gap (
    source        INTEGER NOT NULL REFERENCES watch_source (number) ON DELETE CASCADE,
    at_utc_ns     INTEGER NOT NULL,
    beats         INTEGER NOT NULL,
    reason        TEXT    NOT NULL,
    PRIMARY KEY (source, at_utc_ns)
) STRICT, WITHOUT ROWID;

/* What a source could not tell, and when that was first and last so. */
CREATE TABLE watch_warning (
    source        INTEGER NOT NULL REFERENCES watch_source (number) ON DELETE CASCADE,
    message       TEXT    NOT NULL,
    document      TEXT    NOT NULL,
    first_utc_ns  INTEGER NOT NULL,
    last_utc_ns   INTEGER NOT NULL,
    PRIMARY KEY (source, message)
) STRICT, WITHOUT ROWID;

/* An hour (tier 1) or a day (tier 2) of one series: sums, maxima, distributions. */
CREATE TABLE watch_rollup (
    tier          INTEGER NOT NULL,
    /* Seconds since 1970, UTC, of the hour's or day's beginning. */
    beginning_s   INTEGER NOT NULL,
    series        INTEGER NOT NULL REFERENCES watch_series (number) ON DELETE CASCADE,
    body          BLOB    NOT NULL,
    PRIMARY KEY (tier, beginning_s, series)
) STRICT, WITHOUT ROWID;
