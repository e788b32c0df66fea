/* iostall:test_lake_hours_there */
SELECT series_id, epoch(hour)::bigint, covered_ns, intervals, reads, read_stall_ns, reads_per_s_max
FROM hours ORDER BY series_id, hour;
