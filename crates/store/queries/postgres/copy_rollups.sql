/* iostall:copy_rollups */
COPY iostall.{table} (beginning, source, series, covered_ns, intervals, reads_by_stall, writes_by_stall, {peaks}{counters})
FROM STDIN (FORMAT binary);
