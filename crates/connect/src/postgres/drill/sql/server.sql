/* iostall:drill_server */
-- Who was started, and how its pages are laid out.
SELECT current_setting('server_version')                              AS version,
       current_setting('block_size')                                  AS block_bytes,
       (SELECT setting FROM pg_settings WHERE name = 'segment_size')  AS blocks_per_segment,
       current_setting('data_checksums')                              AS checksums
