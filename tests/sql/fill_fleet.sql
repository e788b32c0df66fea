/* iostall:test_fill_fleet */
-- Two servers with a file each, and two days of what they did.
INSERT INTO iostall.server (id) VALUES (gen_random_uuid()), (gen_random_uuid());
INSERT INTO iostall.source (id, server, name, last_utc_ns)
SELECT gen_random_uuid(), number, 'sqlserver://db' || number, 1772500000000000000 FROM iostall.server;
INSERT INTO iostall.series (id, source, kind, scope, scope_name, identity, name, volume)
SELECT gen_random_uuid(), number, 'sqlserver-file', 1, 'sales', '1',
       CASE number WHEN 1 THEN 'E:\data\slow.mdf' ELSE 'F:\data\fast.mdf' END, CASE number WHEN 1 THEN 'E:\' ELSE 'F:\' END
FROM iostall.source;
INSERT INTO iostall.volume (source, name) SELECT source, lies_on FROM iostall.series;
INSERT INTO iostall.rollup_day (beginning, source, series, covered_ns, intervals, reads, read_bytes, read_stall, reads_by_stall, writes_by_stall)
SELECT day, source, number, 86400000000000, 1440, 1000, 8192000, 9000000000 / number, ARRAY[90, 1000], ARRAY[]::bigint[]
FROM iostall.series, (VALUES ('2026-03-01 00:00:00+00'::timestamptz), ('2026-03-02 00:00:00+00')) AS d (day);
