/* iostall:0106_keep_jobs_and_alerts */

/* What became of each run of a job of `iostall collect run --config`. */
CREATE TABLE job_run (
    job        TEXT    NOT NULL,
    due_utc_ns INTEGER NOT NULL,
    outcome    TEXT    NOT NULL,
    /* All of it, as JSON. */
    document   TEXT    NOT NULL CHECK (json_valid(document)),
    PRIMARY KEY (job, due_utc_ns)
) WITHOUT ROWID;

/* What a collector has to know again after a restart, such as the alerts that are firing: a document of its own under
   each name. */
CREATE TABLE collector_state (
    name     TEXT NOT NULL PRIMARY KEY,
    document TEXT NOT NULL CHECK (json_valid(document))
) WITHOUT ROWID;
