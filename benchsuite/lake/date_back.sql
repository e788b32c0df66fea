/* iostall:bench_lake_date_back */
-- Three days earlier, in one day: only days that are over move.
SELECT ((now() AT TIME ZONE 'UTC')::date - 3) || ' 00:00:00+00' AS day, ((now() AT TIME ZONE 'UTC')::date - 2) || ' 00:00:00+00' AS next,
       to_char((now() AT TIME ZONE 'UTC')::date - 3, 'YYYY_MM_DD') AS suffix \gset
BEGIN;
CREATE TEMPORARY TABLE heads AS SELECT * FROM iostall.sample;
CREATE TEMPORARY TABLE rows AS SELECT * FROM iostall.sample_row;
TRUNCATE iostall.sample, iostall.sample_row, iostall.rollup_hour, iostall.rollup_day;
CREATE TABLE iostall.sample_:suffix PARTITION OF iostall.sample FOR VALUES FROM (:'day') TO (:'next');
CREATE TABLE iostall.sample_row_:suffix PARTITION OF iostall.sample_row FOR VALUES FROM (:'day') TO (:'next');
UPDATE heads SET taken = taken - interval '3 days', taken_utc_ns = taken_utc_ns - 259200000000000;
UPDATE rows SET taken = taken - interval '3 days';
INSERT INTO iostall.sample SELECT * FROM heads;
INSERT INTO iostall.sample_row SELECT * FROM rows;
UPDATE iostall.source SET rolled_up_to = last_number;
COMMIT;
