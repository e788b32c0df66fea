/* iostall:wal */
-- 14 to 17: what was logged, and how it was written and synced.
SELECT 'write-ahead log'                              AS name,
       'wal'                                          AS identity,
       wal_records                                    AS wal_records,
       wal_fpi                                        AS wal_full_pages,
       wal_bytes::bigint                              AS wal_bytes,
       wal_buffers_full                               AS wal_buffers_full,
       wal_write                                      AS writes,
       CASE WHEN t.wal THEN round(wal_write_time * 1000)::bigint END AS write_stall,
       wal_sync                                       AS syncs,
       CASE WHEN t.wal THEN round(wal_sync_time * 1000)::bigint END  AS sync_stall,
       round(extract(epoch FROM stats_reset) * 1000000)::bigint      AS statistics_reset
FROM pg_stat_wal, (SELECT current_setting('track_wal_io_timing')::bool) AS t(wal)
