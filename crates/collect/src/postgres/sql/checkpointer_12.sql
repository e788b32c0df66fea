/* iostall:checkpointer */
SELECT 'checkpointer'                                 AS name,
       'checkpointer'                                 AS identity,
       checkpoints_timed                              AS checkpoints_timed,
       checkpoints_req                                AS checkpoints_requested,
       round(checkpoint_write_time * 1000)::bigint    AS checkpoint_write_time,
       round(checkpoint_sync_time * 1000)::bigint     AS checkpoint_sync_time,
       buffers_checkpoint                             AS writes,
       buffers_checkpoint * current_setting('block_size')::bigint AS write_bytes,
       round(extract(epoch FROM stats_reset) * 1000000)::bigint   AS statistics_reset
FROM pg_stat_bgwriter
