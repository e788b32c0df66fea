/* iostall:wal */
-- From 18 writes and syncs of the log are in pg_stat_io (object wal), by kind of backend: here their sums, which are what
-- commits wait for.
SELECT 'write-ahead log'                              AS name,
       'wal'                                          AS identity,
       w.wal_records                                  AS wal_records,
       w.wal_fpi                                      AS wal_full_pages,
       w.wal_bytes::bigint                            AS wal_bytes,
       w.wal_buffers_full                             AS wal_buffers_full,
       io.writes                                      AS writes,
       io.write_bytes                                 AS write_bytes,
       CASE WHEN t.wal THEN io.write_stall END        AS write_stall,
       io.syncs                                       AS syncs,
       CASE WHEN t.wal THEN io.sync_stall END         AS sync_stall,
       round(extract(epoch FROM greatest(w.stats_reset, io.stats_reset)) * 1000000)::bigint AS statistics_reset
FROM pg_stat_wal AS w
CROSS JOIN (SELECT current_setting('track_wal_io_timing')::bool) AS t(wal)
CROSS JOIN (
  SELECT sum(writes)::bigint, sum(write_bytes)::bigint, round(sum(write_time) * 1000)::bigint,
         sum(fsyncs)::bigint, round(sum(fsync_time) * 1000)::bigint, max(stats_reset)
  FROM pg_stat_io
  WHERE object = 'wal'
) AS io(writes, write_bytes, write_stall, syncs, sync_stall, stats_reset)
