/* iostall:postgres_0004_keep_runs */

/* One row a run of a server: a load test, a sweep, a copy, a backup, a restore, a drill and so on. */
CREATE TABLE iostall.run (
    server          integer     NOT NULL REFERENCES iostall.server (number) ON DELETE CASCADE,
    id              uuid        NOT NULL,
    /* Its number in the store of its server. A store that was restored from an older copy gives one again. */
    number          bigint      NOT NULL,
    kind            text        NOT NULL,
    name            text        NOT NULL,
    started         timestamptz NOT NULL,
    ended           timestamptz NOT NULL,
    /* The same in full, nanoseconds since 1970. */
    ended_utc_ns    bigint      NOT NULL,
    host            text        NOT NULL,
    tool_version    text        NOT NULL,
    /* Stopped early, or not complete when it was sent: then it is sent again. */
    interrupted     boolean     NOT NULL,
    warning_count   bigint      NOT NULL,
    /* Paths, in the run's order. */
    targets         text[]      NOT NULL,
    /* Reads and writes of all spans and roles together; NULL where there were none. */
    measured_ns     bigint,
    block_size      text,
    iops            double precision,
    mib_per_s       double precision,
    latency_ns_p99  bigint,
    /* The whole run, as docs/formats.md has it; NULL where it was too long to send. */
    document        jsonb,
    received        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (server, id)
);

CREATE INDEX run_by_number ON iostall.run (server, number);
CREATE INDEX run_by_start ON iostall.run (started DESC, number DESC, server);
CREATE INDEX run_by_kind ON iostall.run (kind, started DESC);
