/* iostall:backup_server */
-- Whose data directory is to be backed up, and how it is laid out. Paths come as bytes: they need not be text.
SELECT current_setting('server_version')                                           AS version,
       pg_is_in_recovery()                                                         AS is_standby,
       (SELECT system_identifier::text FROM pg_control_system())                   AS system_identifier,
       CASE WHEN NOT s.sees_all THEN NULL
            WHEN e.is_raw THEN convert_to(current_setting('data_directory'), 'SQL_ASCII')
            ELSE textsend(current_setting('data_directory')) END                   AS directory,
       CASE WHEN NOT s.sees_all THEN NULL
            WHEN e.is_raw THEN convert_to(current_setting('config_file'), 'SQL_ASCII')
            ELSE textsend(current_setting('config_file')) END                      AS config_file,
       current_setting('port')                                                     AS port,
       (SELECT setting FROM pg_settings WHERE name = 'wal_segment_size')           AS wal_segment_bytes,
       (SELECT setting FROM pg_settings WHERE name = 'segment_size')               AS blocks_per_segment,
       current_setting('block_size')                                               AS block_bytes,
       current_setting('data_checksums')                                           AS checksums,
       current_setting('archive_mode')                                             AS archive_mode
FROM (SELECT getdatabaseencoding() = 'SQL_ASCII') AS e(is_raw),
     (SELECT pg_has_role('pg_read_all_settings', 'USAGE')) AS s(sees_all)
