/* iostall:0104_keep_capacities */

/* What a device gave for one shape of I/O, from runs kept by this version on: one row a device, shape and run. */
CREATE TABLE capacity (
    run_number      INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
    position        INTEGER NOT NULL,
    /* A name that goes with the device (its WWN, serial number or volume); NULL where it has none. */
    device_key      TEXT,
    /* Kernel name on that host at that time. */
    device          TEXT    NOT NULL,
    block_size      TEXT    NOT NULL,
    /* At the best point of the curve. */
    iops            REAL    NOT NULL,
    mib_per_s       REAL    NOT NULL,
    latency_ns_p99  INTEGER NOT NULL,
    /* All of it, as JSON. */
    record          TEXT    NOT NULL CHECK (json_valid(record)),
    PRIMARY KEY (run_number, position)
) STRICT, WITHOUT ROWID;

CREATE INDEX capacity_by_device ON capacity (device_key, run_number);
