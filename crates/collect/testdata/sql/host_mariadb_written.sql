/* iostall:host_mariadb_written */
-- The files, and the redo log, which the Performance Schema of MariaDB does not count.
SELECT CAST(SUM(SUM_NUMBER_OF_BYTES_WRITE) AS UNSIGNED)
       + (SELECT CAST(VARIABLE_VALUE AS UNSIGNED) FROM information_schema.GLOBAL_STATUS
          WHERE VARIABLE_NAME = 'INNODB_OS_LOG_WRITTEN')
FROM performance_schema.file_summary_by_instance
WHERE EVENT_NAME = 'wait/io/file/innodb/innodb_data_file'
