/* iostall:wal */
-- From 18 writes and syncs of the log are in pg_stat_io (object wal).
SELECT 'write-ahead log'                              AS name,
       'wal'                                          AS identity,
       wal_records                                    AS wal_records,
       wal_fpi                                        AS wal_full_pages,
       wal_bytes::bigint                              AS wal_bytes,
       wal_buffers_full                               AS wal_buffers_full,
       round(extract(epoch FROM stats_reset) * 1000000)::bigint AS statistics_reset
FROM pg_stat_wal
