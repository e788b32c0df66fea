/* iostall:copy_samples */
COPY iostall.sample (taken, taken_utc_ns, number, clock_ns, uptime_s, source, epoch, row_count)
FROM STDIN (FORMAT binary);
