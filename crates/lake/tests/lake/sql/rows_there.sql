/* iostall:test_lake_rows_there */
SELECT series_id, volume, count(*), sum(reads), sum(read_stall_ns), sum(read_bytes), min(handle),
       max(clock_ns), sum(age_ms), min(epoch_us(taken))
FROM samples GROUP BY series_id, volume ORDER BY series_id;
