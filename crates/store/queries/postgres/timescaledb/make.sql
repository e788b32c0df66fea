/* iostall:timescaledb_make */
-- The tables with partitions are still empty: their places are taken by hypertables of the same columns and indexes.
CREATE TABLE iostall.sample_hyper (LIKE iostall.sample INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
DROP TABLE iostall.sample;
ALTER TABLE iostall.sample_hyper RENAME TO sample;
ALTER TABLE iostall.sample ADD CONSTRAINT sample_pkey PRIMARY KEY (source, number, taken);
CREATE INDEX sample_by_time ON iostall.sample (source, taken_utc_ns);
SELECT {schema}.create_hypertable('iostall.sample', 'taken', chunk_time_interval => INTERVAL '1 day', create_default_indexes => false);

CREATE TABLE iostall.sample_row_hyper (LIKE iostall.sample_row INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
DROP TABLE iostall.sample_row;
ALTER TABLE iostall.sample_row_hyper RENAME TO sample_row;
CREATE INDEX sample_row_by_sample ON iostall.sample_row (source, number);
SELECT {schema}.create_hypertable('iostall.sample_row', 'taken', chunk_time_interval => INTERVAL '1 day', create_default_indexes => false);

-- A month varies in length, and chunks do not.
CREATE TABLE iostall.rollup_hour_hyper (LIKE iostall.rollup_hour INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
DROP TABLE iostall.rollup_hour;
ALTER TABLE iostall.rollup_hour_hyper RENAME TO rollup_hour;
ALTER TABLE iostall.rollup_hour ADD CONSTRAINT rollup_hour_pkey PRIMARY KEY (source, beginning, series);
CREATE INDEX rollup_hour_by_time ON iostall.rollup_hour USING brin (beginning) WITH (pages_per_range = 32);
SELECT {schema}.create_hypertable('iostall.rollup_hour', 'beginning', chunk_time_interval => INTERVAL '30 days', create_default_indexes => false);
