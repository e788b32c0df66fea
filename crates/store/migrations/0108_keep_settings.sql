/* iostall:0108_keep_settings */

/* Settings of sources and hosts over time: a row for each value and the time in which it held. */
CREATE TABLE watch_setting (
    source      INTEGER NOT NULL REFERENCES watch_source (number) ON DELETE CASCADE,
    /* What it is of, such as a disk or a database; empty for the source itself. */
    subject     TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    from_utc_ns INTEGER NOT NULL,
    /* NULL: it holds. */
    to_utc_ns   INTEGER,
    value       TEXT    NOT NULL,
    /* 'setting': every version is kept; 'measured': only the newest; 'unread': why what begins with the subject is not known. */
    class       TEXT    NOT NULL,
    /* 1 where its coming is a change: not so at the first reading, nor where a newer iostall reads more than the one before. */
    is_change   INTEGER NOT NULL,
    PRIMARY KEY (source, subject, name, from_utc_ns)
) WITHOUT ROWID;

/* When the settings of a source were read. */
CREATE TABLE watch_setting_read (
    source       INTEGER PRIMARY KEY REFERENCES watch_source (number) ON DELETE CASCADE,
    first_utc_ns INTEGER NOT NULL,
    last_utc_ns  INTEGER NOT NULL,
    /* The iostall that read them last. */
    tool_version TEXT    NOT NULL
);
