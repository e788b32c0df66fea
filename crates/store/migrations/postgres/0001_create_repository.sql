/* iostall:postgres_0001_create_repository */

/* The central repository of a fleet, in a schema of its own. docs/formats.md explains it. */

/* One row: what this repository is called wherever its history goes, and how many migrations it has. */
CREATE TABLE iostall.repository (
    only_row        boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
    id              uuid        NOT NULL,
    schema_version  integer     NOT NULL,
    created         timestamptz NOT NULL DEFAULT now()
);

/* By this the schema is known as ours: never change it. */
COMMENT ON TABLE iostall.repository IS 'iostall: central repository';

/* One row a store that history comes from: the local store of a server, or this repository. */
CREATE TABLE iostall.server (
    number          integer     GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id              uuid        NOT NULL UNIQUE,
    first_seen      timestamptz NOT NULL DEFAULT now()
);

/* One row a monitored source. Whoever writes its history holds a lock on its row. */
CREATE TABLE iostall.source (
    number           integer     GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id               uuid        NOT NULL UNIQUE,
    server           integer     NOT NULL REFERENCES iostall.server (number),
    /* Its URL without login, password and transport. */
    name             text        NOT NULL,
    /* The number of its newest sample. Numbers count up from 1 and are never given again. */
    last_number      bigint      NOT NULL DEFAULT 0,
    /* Nanoseconds since 1970, UTC, of the newest sample. */
    last_utc_ns      bigint,
    /* The last sample whose difference to the one before is in the roll-ups, and when it was taken. */
    rolled_up_to     bigint      NOT NULL DEFAULT 0,
    rolled_up_utc_ns bigint,
    /* The number of the last batch that was appended: one with this number or a lower one is there already. */
    appended         bigint      NOT NULL DEFAULT 0,
    /* Samples were deleted by age, so that older roll-ups cannot be rebuilt. */
    forgot_samples   boolean     NOT NULL DEFAULT false,
    /* Hours before this were deleted by age: days alone tell of them. */
    forgot_hours     timestamptz
);

CREATE INDEX source_by_name ON iostall.source (server, name);

/* What must be the same for samples to be compared, and the clock that timed them. The id follows from the rest. */
CREATE TABLE iostall.epoch (
    number          integer     GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id              uuid        NOT NULL UNIQUE,
    source          integer     NOT NULL REFERENCES iostall.source (number) ON DELETE CASCADE,
    document        text        NOT NULL,
    clock           text        NOT NULL
);

CREATE INDEX epoch_by_source ON iostall.epoch (source);

/* One row a watched file, relation, device or the like. The id follows from its source and from what it is: its name may change. */
CREATE TABLE iostall.series (
    number          integer     GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id              uuid        NOT NULL UNIQUE,
    source          integer     NOT NULL REFERENCES iostall.source (number) ON DELETE CASCADE,
    kind            text        NOT NULL,
    /* What it is part of: 0 its source as a whole, 1 a database, 2 the host as a device, 3 a control group. */
    scope           smallint    NOT NULL,
    scope_name      text        NOT NULL,
    identity        text        NOT NULL,
    name            text        NOT NULL,
    volume          text
);

CREATE INDEX series_by_source ON iostall.series (source);

/* One row a sample. No foreign keys here and in sample_row: they would be checked for every row, and both are only written
   together with the rows that they refer to. A partition holds a day, UTC. */
CREATE TABLE iostall.sample (
    taken           timestamptz NOT NULL,
    /* The same in full, nanoseconds since 1970: for calendars, never subtracted. */
    taken_utc_ns    bigint      NOT NULL,
    number          bigint      NOT NULL,
    /* Nanoseconds on the epoch's clock. */
    clock_ns        bigint      NOT NULL,
    uptime_s        bigint,
    source          integer     NOT NULL,
    epoch           integer     NOT NULL,
    row_count       integer     NOT NULL,
    PRIMARY KEY (source, number, taken)
) PARTITION BY RANGE (taken);

CREATE INDEX sample_by_time ON iostall.sample (source, taken_utc_ns);

/* The rows of samples: cumulative values, gauges and marks as read, in the units of their kind. */
CREATE TABLE iostall.sample_row (
    taken                 timestamptz NOT NULL,
    number                bigint      NOT NULL,
    /* Age of the subject, if the server reports it. */
    age_ms                bigint,
    source                integer     NOT NULL,
    series                integer     NOT NULL,
    reads                 bigint,
    read_bytes            bigint,
    read_stall            bigint,
    writes                bigint,
    write_bytes           bigint,
    write_stall           bigint,
    syncs                 bigint,
    sync_stall            bigint,
    extends               bigint,
    extend_bytes          bigint,
    extend_stall          bigint,
    writebacks            bigint,
    writeback_stall       bigint,
    discards              bigint,
    discard_bytes         bigint,
    discard_stall         bigint,
    others                bigint,
    other_stall           bigint,
    hits                  bigint,
    evictions             bigint,
    reuses                bigint,
    queued_read_stall     bigint,
    queued_write_stall    bigint,
    busy                  bigint,
    in_flight_time        bigint,
    reads_merged          bigint,
    writes_merged         bigint,
    wait_some             bigint,
    wait_full             bigint,
    in_flight             bigint,
    size_bytes            bigint,
    statistics_reset      bigint,
    handle                bigint,
    wal_bytes             bigint,
    wal_records           bigint,
    wal_full_pages        bigint,
    wal_buffers_full      bigint,
    checkpoints_timed     bigint,
    checkpoints_requested bigint,
    checkpoint_write_time bigint,
    checkpoint_sync_time  bigint,
    temp_files            bigint,
    temp_bytes            bigint,
    untimed_reads         bigint,
    untimed_writes        bigint,
    read_clock_ns         bigint,
    backup_finished_utc_s bigint,
    backup_elapsed_s      bigint,
    backup_bytes          bigint,
    backup_stored_bytes   bigint,
    nand_bytes            bigint,
    used_percent          bigint,
    spare_percent         bigint,
    spare_threshold_percent bigint,
    power_on_hours        bigint,
    erase_cycles          bigint,
    drive_failing         bigint,
    drive_read_utc_s      bigint
) PARTITION BY RANGE (taken);

/* All rows of a sample have one entry: an index of every row by its series would be four times as large. */
CREATE INDEX sample_row_by_sample ON iostall.sample_row (source, number);

/* An hour of one series. A partition holds a month, UTC. */
CREATE TABLE iostall.rollup_hour (
    /* When the hour or day began. */
    beginning             timestamptz NOT NULL,
    source                integer     NOT NULL,
    series                integer     NOT NULL,
    /* The time that was watched, nanoseconds. */
    covered_ns            bigint      NOT NULL,
    intervals             bigint      NOT NULL,
    /* Sums over that time: operations, bytes, nanoseconds. */
    reads                 bigint,
    read_bytes            bigint,
    read_stall            bigint,
    writes                bigint,
    write_bytes           bigint,
    write_stall           bigint,
    syncs                 bigint,
    sync_stall            bigint,
    extends               bigint,
    extend_bytes          bigint,
    extend_stall          bigint,
    writebacks            bigint,
    writeback_stall       bigint,
    discards              bigint,
    discard_bytes         bigint,
    discard_stall         bigint,
    others                bigint,
    other_stall           bigint,
    hits                  bigint,
    evictions             bigint,
    reuses                bigint,
    queued_read_stall     bigint,
    queued_write_stall    bigint,
    busy                  bigint,
    in_flight_time        bigint,
    reads_merged          bigint,
    writes_merged         bigint,
    wait_some             bigint,
    wait_full             bigint,
    in_flight             bigint,
    size_bytes            bigint,
    statistics_reset      bigint,
    handle                bigint,
    wal_bytes             bigint,
    wal_records           bigint,
    wal_full_pages        bigint,
    wal_buffers_full      bigint,
    checkpoints_timed     bigint,
    checkpoints_requested bigint,
    checkpoint_write_time bigint,
    checkpoint_sync_time  bigint,
    temp_files            bigint,
    temp_bytes            bigint,
    untimed_reads         bigint,
    untimed_writes        bigint,
    read_clock_ns         bigint,
    backup_finished_utc_s bigint,
    backup_elapsed_s      bigint,
    backup_bytes          bigint,
    backup_stored_bytes   bigint,
    nand_bytes            bigint,
    used_percent          bigint,
    spare_percent         bigint,
    spare_threshold_percent bigint,
    power_on_hours        bigint,
    erase_cycles          bigint,
    drive_failing         bigint,
    drive_read_utc_s      bigint,
    /* The largest value in any one interval. */
    reads_per_s_max       double precision,
    writes_per_s_max      double precision,
    read_bytes_per_s_max  double precision,
    write_bytes_per_s_max double precision,
    read_stall_ns_max     double precision,
    write_stall_ns_max    double precision,
    queue_depth_max       double precision,
    /* Operations by the mean stall of their interval: number of a bucket, operations, and so on. */
    reads_by_stall        bigint[]    NOT NULL,
    writes_by_stall       bigint[]    NOT NULL,
    PRIMARY KEY (source, beginning, series)
) PARTITION BY RANGE (beginning);

/* A day of one series. */
CREATE TABLE iostall.rollup_day (
    /* When the hour or day began. */
    beginning             timestamptz NOT NULL,
    source                integer     NOT NULL,
    series                integer     NOT NULL,
    /* The time that was watched, nanoseconds. */
    covered_ns            bigint      NOT NULL,
    intervals             bigint      NOT NULL,
    /* Sums over that time: operations, bytes, nanoseconds. */
    reads                 bigint,
    read_bytes            bigint,
    read_stall            bigint,
    writes                bigint,
    write_bytes           bigint,
    write_stall           bigint,
    syncs                 bigint,
    sync_stall            bigint,
    extends               bigint,
    extend_bytes          bigint,
    extend_stall          bigint,
    writebacks            bigint,
    writeback_stall       bigint,
    discards              bigint,
    discard_bytes         bigint,
    discard_stall         bigint,
    others                bigint,
    other_stall           bigint,
    hits                  bigint,
    evictions             bigint,
    reuses                bigint,
    queued_read_stall     bigint,
    queued_write_stall    bigint,
    busy                  bigint,
    in_flight_time        bigint,
    reads_merged          bigint,
    writes_merged         bigint,
    wait_some             bigint,
    wait_full             bigint,
    in_flight             bigint,
    size_bytes            bigint,
    statistics_reset      bigint,
    handle                bigint,
    wal_bytes             bigint,
    wal_records           bigint,
    wal_full_pages        bigint,
    wal_buffers_full      bigint,
    checkpoints_timed     bigint,
    checkpoints_requested bigint,
    checkpoint_write_time bigint,
    checkpoint_sync_time  bigint,
    temp_files            bigint,
    temp_bytes            bigint,
    untimed_reads         bigint,
    untimed_writes        bigint,
    read_clock_ns         bigint,
    backup_finished_utc_s bigint,
    backup_elapsed_s      bigint,
    backup_bytes          bigint,
    backup_stored_bytes   bigint,
    nand_bytes            bigint,
    used_percent          bigint,
    spare_percent         bigint,
    spare_threshold_percent bigint,
    power_on_hours        bigint,
    erase_cycles          bigint,
    drive_failing         bigint,
    drive_read_utc_s      bigint,
    /* The largest value in any one interval. */
    reads_per_s_max       double precision,
    writes_per_s_max      double precision,
    read_bytes_per_s_max  double precision,
    write_bytes_per_s_max double precision,
    read_stall_ns_max     double precision,
    write_stall_ns_max    double precision,
    queue_depth_max       double precision,
    /* Operations by the mean stall of their interval: number of a bucket, operations, and so on. */
    reads_by_stall        bigint[]    NOT NULL,
    writes_by_stall       bigint[]    NOT NULL,
    PRIMARY KEY (source, beginning, series)
);

/* Ticks without a sample. */
CREATE TABLE iostall.gap (
    source          integer     NOT NULL REFERENCES iostall.source (number) ON DELETE CASCADE,
    at_utc_ns       bigint      NOT NULL,
    missed          bigint      NOT NULL,
    reason          text        NOT NULL,
    PRIMARY KEY (source, at_utc_ns)
);

/* What a source could not tell, and when that was first and last so. The id follows from source and message. */
CREATE TABLE iostall.warning (
    id              uuid        PRIMARY KEY,
    source          integer     NOT NULL REFERENCES iostall.source (number) ON DELETE CASCADE,
    message         text        NOT NULL,
    document        text        NOT NULL,
    first_utc_ns    bigint      NOT NULL,
    last_utc_ns     bigint      NOT NULL
);

CREATE INDEX warning_by_source ON iostall.warning (source);

/* How far the history of another database was taken over. */
CREATE TABLE iostall.import_mark (
    source          integer     PRIMARY KEY REFERENCES iostall.source (number) ON DELETE CASCADE,
    sample          bigint      NOT NULL,
    taken_utc_ns    bigint      NOT NULL
);
