/* iostall:postgres_0006_keep_notes_and_settings */

/* What servers have sent of their notes and settings, by which they know what is lacking. */
CREATE TABLE iostall.sheet (
    server          integer     NOT NULL REFERENCES iostall.server (number) ON DELETE CASCADE,
    /* 'notes': of a month; 'settings': of a source. */
    kind            text        NOT NULL,
    /* The month, or the id of the source. */
    name            text        NOT NULL,
    /* Another text whenever the sheet is another. */
    state           text        NOT NULL,
    /* Why it is not here; NULL if it is. */
    refused         text,
    received        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (server, kind, name)
);

/* What people or programs noted on a server. */
CREATE TABLE iostall.note (
    server          integer     NOT NULL REFERENCES iostall.server (number) ON DELETE CASCADE,
    /* What it is about; NULL: all sources of the server. */
    source          integer     REFERENCES iostall.source (number) ON DELETE CASCADE,
    at_utc_ns       bigint      NOT NULL,
    /* NULL where it took no time. */
    end_utc_ns      bigint,
    kind            text        NOT NULL,
    text            text        NOT NULL,
    UNIQUE NULLS NOT DISTINCT (server, source, at_utc_ns, end_utc_ns, kind, text)
);

CREATE INDEX note_by_time ON iostall.note (at_utc_ns);

/* Settings of sources over time: a row for each value and the time in which it held. */
CREATE TABLE iostall.setting (
    source          integer     NOT NULL REFERENCES iostall.source (number) ON DELETE CASCADE,
    /* What it is of, such as a disk or a database; empty for the source itself. */
    subject         text        NOT NULL,
    name            text        NOT NULL,
    from_utc_ns     bigint      NOT NULL,
    /* NULL: it holds. */
    to_utc_ns       bigint,
    value           text        NOT NULL,
    /* 'setting': every version is here; 'measured': only the newest; 'unread': why what begins with the subject is not known. */
    class           text        NOT NULL,
    /* Whether its coming is a change. */
    is_change       boolean     NOT NULL,
    PRIMARY KEY (source, subject, name, from_utc_ns)
);

/* When the settings of a source were read. */
CREATE TABLE iostall.setting_read (
    source          integer     PRIMARY KEY REFERENCES iostall.source (number) ON DELETE CASCADE,
    first_utc_ns    bigint      NOT NULL,
    last_utc_ns     bigint      NOT NULL,
    /* The iostall that read them last. */
    tool_version    text        NOT NULL
);

/* Runs that ended before this were deleted, and are not asked for again; nanoseconds since 1970. */
ALTER TABLE iostall.repository ADD COLUMN runs_forgotten_utc_ns bigint NOT NULL DEFAULT -9223372036854775808;
