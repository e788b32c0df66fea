/* iostall:instance */
-- Who answers, and since when its counters count. After a crash every mark below is new;
-- pg_stat_reset_shared moves the mark of one view.
SELECT current_setting('server_version_num')::int / 10000              AS version,
       (SELECT system_identifier::text FROM pg_control_system()) || '/'
         || (SELECT timeline_id::text FROM pg_control_checkpoint())    AS instance,
       extract(epoch FROM pg_postmaster_start_time())::text            AS process_start,
       ARRAY[(SELECT 'bgwriter ' || extract(epoch FROM stats_reset)::text FROM pg_stat_bgwriter),
             (SELECT 'archiver ' || extract(epoch FROM stats_reset)::text FROM pg_stat_archiver),
             (SELECT 'wal ' || extract(epoch FROM stats_reset)::text FROM pg_stat_wal)]    AS marks,
       current_setting('track_io_timing')::bool                        AS io_timing,
       current_setting('track_wal_io_timing')::bool                    AS wal_timing,
       current_setting('is_superuser')::bool                           AS is_superuser
