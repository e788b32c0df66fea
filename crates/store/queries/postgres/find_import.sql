/* iostall:find_import */
SELECT sample, taken_utc_ns FROM iostall.import_mark WHERE source = $1;
