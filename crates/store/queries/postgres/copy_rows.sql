/* iostall:copy_rows */
COPY iostall.sample_row (taken, number, age_ms, source, series{counters}) FROM STDIN (FORMAT binary);
