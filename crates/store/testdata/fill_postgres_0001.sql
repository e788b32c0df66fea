/* iostall:test_fill_postgres_0001 */
-- A repository as the first version left it: one server, two files and a device, two samples that no roll-up has yet.
INSERT INTO iostall.repository (id, schema_version) VALUES ('01890a5d-ac96-774b-bcce-b302099a8057', 1);
INSERT INTO iostall.server (id) VALUES ('01890a5d-ac96-774b-bcce-b302099a8059');
INSERT INTO iostall.source (id, server, name, last_number, last_utc_ns, appended)
VALUES ('01890a5d-ac96-774b-bcce-b302099a8058', 1, 'sqlserver://db1', 2, 1772359140000000000, 1);
INSERT INTO iostall.epoch (id, source, document, clock)
VALUES ('01890a5d-ac96-774b-bcce-b302099a8060', 1, '{"instance":"one","version":15,"process_start":"","counters_since":[],"uptime_s":null}', 'ticks');
INSERT INTO iostall.series (id, source, kind, scope, scope_name, identity, name, volume) VALUES
('624b68f8-0560-54df-9822-e23dd2a2e599', 1, 'sqlserver-file', 1, 'sales', '0/guid', 'E:\data\file0.mdf', 'E:\'),
('5329ed41-9fb3-5f6b-9332-9c67457ba6c8', 1, 'sqlserver-file', 1, 'sales', '1/guid', 'E:\data\file1.mdf', 'E:\'),
('01890a5d-ac96-774b-bcce-b302099a8061', 1, 'linux-device', 2, 'partition', '8:1 ', 'sda1', '/data');
CREATE TABLE iostall.sample_2026_03_01 PARTITION OF iostall.sample
FOR VALUES FROM ('2026-03-01 00:00:00+00') TO ('2026-03-02 00:00:00+00');
CREATE TABLE iostall.sample_row_2026_03_01 PARTITION OF iostall.sample_row
FOR VALUES FROM ('2026-03-01 00:00:00+00') TO ('2026-03-02 00:00:00+00');
CREATE TABLE iostall.rollup_hour_2026_03 PARTITION OF iostall.rollup_hour
FOR VALUES FROM ('2026-03-01 00:00:00+00') TO ('2026-04-01 00:00:00+00');
INSERT INTO iostall.sample (taken, taken_utc_ns, number, clock_ns, source, epoch, row_count) VALUES
('2026-03-01 09:58:00+00', 1772359080000000000, 1, 77, 1, 1, 2),
('2026-03-01 09:59:00+00', 1772359140000000000, 2, 60000000077, 1, 1, 2);
INSERT INTO iostall.sample_row (taken, number, source, series, reads, read_bytes, read_stall, size_bytes) VALUES
('2026-03-01 09:58:00+00', 1, 1, 1, 0, 0, 0, 1073741824),
('2026-03-01 09:58:00+00', 1, 1, 2, 0, 0, 0, 1073741824),
('2026-03-01 09:59:00+00', 2, 1, 1, 60, 491520, 60, 1074790400),
('2026-03-01 09:59:00+00', 2, 1, 2, 60, 491520, 240, 1074790400);
