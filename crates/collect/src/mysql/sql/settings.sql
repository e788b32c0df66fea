/* iostall:settings */
-- What decides when and how the server reads, writes and syncs.
SHOW GLOBAL VARIABLES WHERE Variable_name LIKE 'innodb\_%' OR Variable_name LIKE 'aria\_%' OR Variable_name IN (
  'version', 'version_comment', 'datadir', 'tmpdir', 'performance_schema', 'flush', 'flush_time', 'sync_binlog', 'sync_frm',
  'sync_master_info', 'sync_relay_log', 'sync_relay_log_info', 'log_bin', 'binlog_format', 'binlog_row_image', 'binlog_cache_size',
  'binlog_commit_wait_count', 'binlog_commit_wait_usec', 'binlog_group_commit_sync_delay', 'binlog_order_commits',
  'binlog_expire_logs_seconds', 'expire_logs_days', 'max_binlog_size', 'log_slave_updates', 'log_replica_updates',
  'slave_parallel_threads', 'slave_parallel_workers', 'replica_parallel_workers', 'slave_parallel_mode', 'read_only',
  'super_read_only', 'server_id', 'rpl_semi_sync_master_enabled', 'rpl_semi_sync_slave_enabled', 'wsrep_on', 'general_log',
  'slow_query_log', 'log_output', 'tmp_table_size', 'max_heap_table_size', 'tmp_disk_table_size', 'internal_tmp_disk_storage_engine',
  'default_storage_engine', 'table_open_cache', 'open_files_limit', 'max_connections', 'thread_handling', 'thread_pool_size',
  'key_buffer_size', 'sort_buffer_size', 'join_buffer_size', 'read_buffer_size', 'read_rnd_buffer_size', 'large_pages',
  'rocksdb_flush_log_at_trx_commit')
