/* iostall:io */
-- From 18: reads, writes and extends count operations, and the bytes have columns of their own. A NULL means
-- that this backend never does this, and stays absent; so do times that the settings do not measure.
SELECT concat_ws('/', backend_type, object, context)  AS name,
       concat_ws('/', backend_type, object, context)  AS identity,
       reads                                          AS reads,
       read_bytes::bigint                             AS read_bytes,
       CASE WHEN timed THEN round(read_time * 1000)::bigint END      AS read_stall,
       writes                                         AS writes,
       write_bytes::bigint                            AS write_bytes,
       CASE WHEN timed THEN round(write_time * 1000)::bigint END     AS write_stall,
       writebacks                                     AS writebacks,
       CASE WHEN timed THEN round(writeback_time * 1000)::bigint END AS writeback_stall,
       extends                                        AS extends,
       extend_bytes::bigint                           AS extend_bytes,
       CASE WHEN timed THEN round(extend_time * 1000)::bigint END    AS extend_stall,
       hits                                           AS hits,
       evictions                                      AS evictions,
       reuses                                         AS reuses,
       fsyncs                                         AS syncs,
       CASE WHEN timed THEN round(fsync_time * 1000)::bigint END     AS sync_stall,
       round(extract(epoch FROM stats_reset) * 1000000)::bigint      AS statistics_reset
FROM (SELECT *,
             CASE WHEN object = 'wal' THEN current_setting('track_wal_io_timing')::bool
                  ELSE current_setting('track_io_timing')::bool END AS timed
      FROM pg_stat_io) AS io
