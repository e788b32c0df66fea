/* iostall:find_import */
SELECT sample, taken_utc_ns FROM watch_import WHERE source = :source;
