/* iostall:settings */
-- What decides when and how the server reads, writes and syncs, and what it tells of that. No setting here can hold a password;
-- of commands there is only whether one is set. What waits for a restart is listed with its name.
SELECT ''::text                                                        AS subject,
       name::text                                                      AS name,
       current_setting(name)                                           AS value
  FROM pg_settings
 WHERE name IN (
       -- durability
       'fsync', 'full_page_writes', 'synchronous_commit', 'wal_sync_method', 'wal_log_hints', 'data_checksums', 'data_sync_retry',
       'commit_delay', 'commit_siblings', 'synchronous_standby_names', 'ignore_checksum_failure', 'zero_damaged_pages',
       -- the log: how much of it, and how often pages go into it whole
       'wal_level', 'wal_compression', 'wal_buffers', 'wal_writer_delay', 'wal_writer_flush_after', 'max_wal_size', 'min_wal_size',
       'wal_segment_size', 'wal_init_zero', 'wal_recycle', 'wal_keep_size', 'wal_keep_segments', 'max_slot_wal_keep_size',
       'checkpoint_timeout', 'checkpoint_completion_target', 'checkpoint_flush_after', 'checkpoint_warning',
       'archive_mode', 'archive_timeout', 'summarize_wal', 'max_wal_senders', 'hot_standby', 'hot_standby_feedback',
       -- memory, whose lack is I/O
       'shared_buffers', 'effective_cache_size', 'work_mem', 'hash_mem_multiplier', 'maintenance_work_mem', 'autovacuum_work_mem',
       'temp_buffers', 'temp_file_limit', 'huge_pages', 'max_connections',
       -- writing back
       'bgwriter_delay', 'bgwriter_lru_maxpages', 'bgwriter_lru_multiplier', 'bgwriter_flush_after', 'backend_flush_after',
       -- reading
       'effective_io_concurrency', 'maintenance_io_concurrency', 'io_method', 'io_workers', 'io_max_concurrency',
       'io_combine_limit', 'io_max_combine_limit', 'random_page_cost', 'seq_page_cost', 'recovery_prefetch', 'file_copy_method',
       'debug_io_direct', 'block_size',
       -- vacuum
       'autovacuum', 'autovacuum_max_workers', 'autovacuum_naptime', 'autovacuum_vacuum_cost_delay', 'autovacuum_vacuum_cost_limit',
       'vacuum_cost_delay', 'vacuum_cost_limit', 'vacuum_buffer_usage_limit', 'autovacuum_vacuum_scale_factor',
       -- what is measured and said
       'track_io_timing', 'track_wal_io_timing', 'track_counts', 'log_checkpoints', 'log_temp_files', 'server_version')
UNION ALL
SELECT '', 'role', CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE 'primary' END
UNION ALL
SELECT '', 'waits for a restart', string_agg(name, ', ' ORDER BY name)
  FROM pg_settings
 WHERE pending_restart
UNION ALL
SELECT '', 'archive_command', CASE WHEN setting IN ('', '(disabled)') THEN 'not set' ELSE 'set' END
  FROM pg_settings
 WHERE name = 'archive_command'
UNION ALL
-- Settings of one database or role alone that change the same for their sessions.
SELECT concat_ws(' ', CASE WHEN d.datname IS NULL THEN NULL ELSE 'database ' || d.datname END,
                      CASE WHEN r.rolname IS NULL THEN NULL ELSE 'role ' || r.rolname END),
       split_part(c.setting, '=', 1),
       substr(c.setting, strpos(c.setting, '=') + 1)
  FROM pg_db_role_setting AS s
 CROSS JOIN LATERAL unnest(s.setconfig) AS c (setting)
  LEFT JOIN pg_database AS d ON d.oid = s.setdatabase
  LEFT JOIN pg_roles AS r ON r.oid = s.setrole
 WHERE split_part(c.setting, '=', 1) IN ('synchronous_commit', 'track_io_timing', 'work_mem', 'temp_file_limit',
                                         'effective_io_concurrency', 'random_page_cost')
   AND (d.datname IS NOT NULL OR r.rolname IS NOT NULL)
