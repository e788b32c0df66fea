/* iostall:time_reads */
ALTER SYSTEM SET track_io_timing = on;
