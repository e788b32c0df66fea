/* iostall:checkpointer */
SELECT 'checkpointer'                                 AS name,
       'checkpointer'                                 AS identity,
       num_timed                                      AS checkpoints_timed,
       num_requested                                  AS checkpoints_requested,
       round(write_time * 1000)::bigint               AS checkpoint_write_time,
       round(sync_time * 1000)::bigint                AS checkpoint_sync_time,
       buffers_written                                AS writes,
       buffers_written * current_setting('block_size')::bigint AS write_bytes,
       round(extract(epoch FROM stats_reset) * 1000000)::bigint AS statistics_reset
FROM pg_stat_checkpointer
