/* iostall:postgres_0006_move_to_lake */

/* The catalogue of the lake's tables, in the form that other programs know (Iceberg's SQL and JDBC catalogues, version V1). */
CREATE TABLE iostall.iceberg_tables (
    catalog_name               varchar(255)  NOT NULL,
    table_namespace            varchar(255)  NOT NULL,
    table_name                 varchar(255)  NOT NULL,
    metadata_location          varchar(1000),
    previous_metadata_location varchar(1000),
    iceberg_type               varchar(5),
    PRIMARY KEY (catalog_name, table_namespace, table_name)
);

CREATE TABLE iostall.iceberg_namespace_properties (
    catalog_name    varchar(255)  NOT NULL,
    namespace       varchar(255)  NOT NULL,
    property_key    varchar(255)  NOT NULL,
    property_value  varchar(1000),
    PRIMARY KEY (catalog_name, namespace, property_key)
);

/* One row an attempt to move a day to the lake. */
CREATE TABLE iostall.lake_move (
    number          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    /* The day, UTC. One that gets more samples after it was moved is moved again, with those. */
    day             date        NOT NULL,
    /* The directory or bucket. */
    place           text        NOT NULL,
    /* writing, verified, moved, or abandoned: what it wrote is deleted then, and the day is where it was. */
    state           text        NOT NULL CHECK (state IN ('writing', 'verified', 'moved', 'abandoned')),
    begun           timestamptz NOT NULL DEFAULT now(),
    ended           timestamptz,
    /* Rows of samples and of hours, and the bytes of their files. */
    sample_rows     bigint,
    hour_rows       bigint,
    file_bytes      bigint
);

CREATE INDEX lake_move_by_day ON iostall.lake_move (day);

/* The files of attempts, each named here before it is made: what an attempt leaves is found by that. */
CREATE TABLE iostall.lake_file (
    move            bigint      NOT NULL REFERENCES iostall.lake_move (number) ON DELETE CASCADE,
    path            text        NOT NULL,
    PRIMARY KEY (move, path)
);
