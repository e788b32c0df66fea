/* iostall:host_mariadb_read */
SELECT CAST(SUM(SUM_NUMBER_OF_BYTES_READ) AS UNSIGNED) FROM performance_schema.file_summary_by_instance
WHERE EVENT_NAME = 'wait/io/file/innodb/innodb_data_file'
