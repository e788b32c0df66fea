/* iostall:io */
-- 16 and 17: reads, writes and extends count blocks of op_bytes, not operations. A NULL means that this
-- backend never does this, and stays absent. Times are zero unless track_io_timing is on: then absent too.
SELECT concat_ws('/', backend_type, object, context)  AS name,
       concat_ws('/', backend_type, object, context)  AS identity,
       reads                                          AS reads,
       reads * op_bytes                               AS read_bytes,
       CASE WHEN t.io THEN round(read_time * 1000)::bigint END      AS read_stall,
       writes                                         AS writes,
       writes * op_bytes                              AS write_bytes,
       CASE WHEN t.io THEN round(write_time * 1000)::bigint END     AS write_stall,
       writebacks                                     AS writebacks,
       CASE WHEN t.io THEN round(writeback_time * 1000)::bigint END AS writeback_stall,
       extends                                        AS extends,
       extends * op_bytes                             AS extend_bytes,
       CASE WHEN t.io THEN round(extend_time * 1000)::bigint END    AS extend_stall,
       hits                                           AS hits,
       evictions                                      AS evictions,
       reuses                                         AS reuses,
       fsyncs                                         AS syncs,
       CASE WHEN t.io THEN round(fsync_time * 1000)::bigint END     AS sync_stall,
       round(extract(epoch FROM stats_reset) * 1000000)::bigint     AS statistics_reset
FROM pg_stat_io, (SELECT current_setting('track_io_timing')::bool) AS t(io)
