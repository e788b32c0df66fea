/* iostall:test_sqlserver_rates */
SELECT COUNT_BIG(*) FROM iostall.file_rate AS r WHERE r.write_bytes_per_s > 0 AND r.write_stall_ms_per_write >= 0;
