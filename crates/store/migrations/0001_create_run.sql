/* iostall:0001_create_run */

/* One row a run: what a listing shows and filters by. The run itself is in run_document. */
CREATE TABLE run (
    /* Shown to people as #12. AUTOINCREMENT: the number of a deleted run is never given to another,
       so that a number in a mail or a ticket never comes to mean something else. */
    number          INTEGER PRIMARY KEY AUTOINCREMENT,
    /* UUID, lower case with hyphens. */
    id              TEXT    NOT NULL UNIQUE CHECK (length(id) = 36),
    kind            TEXT    NOT NULL,
    name            TEXT    NOT NULL,
    /* UTC, RFC 3339, always nine decimals: text order is time order. */
    started_utc     TEXT    NOT NULL CHECK (length(started_utc) = 30),
    ended_utc       TEXT    NOT NULL CHECK (length(ended_utc) = 30),
    host            TEXT    NOT NULL,
    tool_version    TEXT    NOT NULL,
    interrupted     INTEGER NOT NULL CHECK (interrupted IN (0, 1)),
    warning_count   INTEGER NOT NULL,
    /* Reads and writes of all spans and roles together; NULL where there were none. */
    measured_ns     INTEGER,
    block_size      TEXT,
    iops            REAL,
    mib_per_s       REAL,
    latency_ns_p99  INTEGER
) STRICT;

CREATE INDEX run_by_start ON run (started_utc DESC, number DESC);

/* One row a target, in the run's order. */
CREATE TABLE run_target (
    run_number      INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
    position        INTEGER NOT NULL,
    path            TEXT    NOT NULL,
    /* Kernel name and model of the block device; NULL where there is none or it does not tell. */
    device          TEXT,
    device_model    TEXT,
    PRIMARY KEY (run_number, position)
) STRICT, WITHOUT ROWID;

/* The whole run. A table of its own, so that listing ten thousand runs does not step over their documents. */
CREATE TABLE run_document (
    run_number      INTEGER PRIMARY KEY REFERENCES run (number) ON DELETE CASCADE,
    /* 'json+zstd': JSON as docs/formats.md has it, one zstd frame with a checksum. */
    encoding        TEXT    NOT NULL,
    document        BLOB    NOT NULL
) STRICT;

/* A run as listings show it; targets is a JSON array of paths. */
CREATE VIEW run_entry AS
SELECT run.*,
       (SELECT json_group_array(path ORDER BY position)
          FROM run_target
         WHERE run_number = run.number) AS targets
  FROM run;
