/* iostall:create_tables */
-- Raw samples as they were read, and roll-ups. A table that is there is left alone: no script drops history.
-- Names compare by their code points, whatever the collations of server and database are.
SET NOCOUNT ON;

-- One life of the server's counters. The beginning is on the computer's own clock, which knows no summer time.
IF OBJECT_ID(N'iostall.epoch', N'U') IS NULL
    CREATE TABLE iostall.epoch (
        epoch_id BIGINT IDENTITY (1, 1) NOT NULL CONSTRAINT epoch_pk PRIMARY KEY,
        instance_name NVARCHAR(256) COLLATE Latin1_General_BIN2 NOT NULL,
        version INT NOT NULL,
        start_ticks_ms BIGINT NOT NULL,
        first_seen_utc DATETIME2(3) NOT NULL,
        CONSTRAINT epoch_once UNIQUE (instance_name, version, start_ticks_ms)
    );

-- One call of iostall.run_samples. ended_utc stays NULL while it runs; a killed one is closed by the next that starts.
IF OBJECT_ID(N'iostall.run', N'U') IS NULL
    CREATE TABLE iostall.run (
        run_id BIGINT IDENTITY (1, 1) NOT NULL CONSTRAINT run_pk PRIMARY KEY,
        started_utc DATETIME2(3) NOT NULL,
        ended_utc DATETIME2(3) NULL,
        end_reason NVARCHAR(20) NULL,
        interval_s INT NOT NULL,
        duration_s BIGINT NULL,
        filter_text NVARCHAR(450) COLLATE Latin1_General_BIN2 NULL,
        stop_requested BIT NOT NULL CONSTRAINT run_stop_requested DEFAULT (0),
        login_name NVARCHAR(128) NOT NULL,
        samples BIGINT NOT NULL CONSTRAINT run_samples_count DEFAULT (0)
    );

-- What went wrong, and how many beats have no sample because of it.
IF OBJECT_ID(N'iostall.event', N'U') IS NULL
    CREATE TABLE iostall.event (
        event_id BIGINT IDENTITY (1, 1) NOT NULL CONSTRAINT event_pk PRIMARY KEY,
        run_id BIGINT NULL,
        at_utc DATETIME2(3) NOT NULL,
        beats BIGINT NOT NULL,
        message NVARCHAR(2048) NOT NULL
    );

-- One file of one database. Ids are used again by the server, so the identity holds what is not.
IF OBJECT_ID(N'iostall.data_file', N'U') IS NULL
    CREATE TABLE iostall.data_file (
        file_key BIGINT IDENTITY (1, 1) NOT NULL CONSTRAINT data_file_pk PRIMARY KEY,
        identity_text NVARCHAR(200) COLLATE Latin1_General_BIN2 NOT NULL CONSTRAINT data_file_once UNIQUE,
        database_id INT NOT NULL,
        file_id INT NOT NULL,
        database_name NVARCHAR(128) COLLATE Latin1_General_BIN2 NOT NULL,
        logical_name NVARCHAR(128) COLLATE Latin1_General_BIN2 NULL,
        physical_name NVARCHAR(260) COLLATE Latin1_General_BIN2 NOT NULL,
        type_name NVARCHAR(60) COLLATE Latin1_General_BIN2 NULL,
        volume NVARCHAR(512) COLLATE Latin1_General_BIN2 NULL,
        first_sample_id BIGINT NOT NULL,
        -- Age of its database when the file was first seen; NULL where the server did not tell.
        first_age_ms BIGINT NULL,
        last_sample_id BIGINT NOT NULL
    );

-- One reading. taken_utc is for people; intervals are differences of ticks_ms, read in the statement that read the counters.
IF OBJECT_ID(N'iostall.sample', N'U') IS NULL
    CREATE TABLE iostall.sample (
        sample_id BIGINT IDENTITY (1, 1) NOT NULL CONSTRAINT sample_pk PRIMARY KEY,
        run_id BIGINT NULL,
        epoch_id BIGINT NOT NULL CONSTRAINT sample_epoch REFERENCES iostall.epoch (epoch_id),
        taken_utc DATETIME2(3) NOT NULL,
        ticks_ms BIGINT NOT NULL,
        files INT NOT NULL,
        -- Which files were asked for; NULL is all. Samples of one filter have the same files.
        filter_text NVARCHAR(450) COLLATE Latin1_General_BIN2 NULL,
        -- Requests that had not come back, and how long the oldest had waited: a hung one is in no counter yet.
        pending_count INT NULL,
        pending_ms_max BIGINT NULL
    );

IF INDEXPROPERTY(OBJECT_ID(N'iostall.sample'), N'sample_taken_utc', 'IndexID') IS NULL
    CREATE INDEX sample_taken_utc ON iostall.sample (taken_utc);

-- Cumulative counters, as read. NULL is a counter that the version does not have.
IF OBJECT_ID(N'iostall.file_sample', N'U') IS NULL
    CREATE TABLE iostall.file_sample (
        sample_id BIGINT NOT NULL CONSTRAINT file_sample_sample REFERENCES iostall.sample (sample_id),
        file_key BIGINT NOT NULL CONSTRAINT file_sample_file REFERENCES iostall.data_file (file_key),
        -- The sample before that had this file, whoever took it: intervals of a file never overlap.
        previous_sample_id BIGINT NULL,
        reads BIGINT NOT NULL,
        read_bytes BIGINT NOT NULL,
        read_stall_ms BIGINT NOT NULL,
        writes BIGINT NOT NULL,
        write_bytes BIGINT NOT NULL,
        write_stall_ms BIGINT NOT NULL,
        queued_read_stall_ms BIGINT NULL,
        queued_write_stall_ms BIGINT NULL,
        size_bytes BIGINT NOT NULL,
        handle BIGINT NULL,
        CONSTRAINT file_sample_pk PRIMARY KEY (sample_id, file_key)
    );

-- Hours ('H') and days ('D') of a file: sums, covered time, maxima of intervals. Never averages.
IF OBJECT_ID(N'iostall.roll_up', N'U') IS NULL
    CREATE TABLE iostall.roll_up (
        tier CHAR(1) COLLATE Latin1_General_BIN2 NOT NULL CONSTRAINT roll_up_tier CHECK (tier IN ('H', 'D')),
        beginning_utc DATETIME2(0) NOT NULL,
        file_key BIGINT NOT NULL CONSTRAINT roll_up_file REFERENCES iostall.data_file (file_key),
        covered_ms BIGINT NOT NULL,
        intervals BIGINT NOT NULL,
        resets BIGINT NOT NULL,
        reads BIGINT NOT NULL,
        read_bytes BIGINT NOT NULL,
        read_stall_ms BIGINT NOT NULL,
        writes BIGINT NOT NULL,
        write_bytes BIGINT NOT NULL,
        write_stall_ms BIGINT NOT NULL,
        queued_read_stall_ms BIGINT NULL,
        queued_write_stall_ms BIGINT NULL,
        size_bytes_max BIGINT NOT NULL,
        reads_per_s_max DECIMAL(19, 3) NULL,
        writes_per_s_max DECIMAL(19, 3) NULL,
        read_bytes_per_s_max DECIMAL(19, 3) NULL,
        write_bytes_per_s_max DECIMAL(19, 3) NULL,
        read_stall_ms_per_read_max DECIMAL(19, 6) NULL,
        write_stall_ms_per_write_max DECIMAL(19, 6) NULL,
        CONSTRAINT roll_up_pk PRIMARY KEY (tier, beginning_utc, file_key)
    );

-- The last sample that is in the roll-ups: one row.
IF OBJECT_ID(N'iostall.rolled_up', N'U') IS NULL
    CREATE TABLE iostall.rolled_up (
        only_row BIT NOT NULL CONSTRAINT rolled_up_pk PRIMARY KEY
        CONSTRAINT rolled_up_one_row CHECK (only_row = 1) CONSTRAINT rolled_up_default DEFAULT (1),
        up_to_sample_id BIGINT NOT NULL
    );

IF NOT EXISTS (SELECT 1 FROM iostall.rolled_up)
    INSERT INTO iostall.rolled_up (up_to_sample_id) VALUES (0);
GO
