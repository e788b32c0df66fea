/* iostall:status */
SHOW GLOBAL STATUS WHERE Variable_name IN (
  'Uptime',
  'Innodb_data_reads', 'Innodb_data_read', 'Innodb_data_writes', 'Innodb_data_written', 'Innodb_data_fsyncs',
  'Innodb_log_writes', 'Innodb_os_log_written', 'Innodb_os_log_fsyncs',
  'Performance_schema_file_instances_lost', 'Performance_schema_file_handles_lost')
