/* iostall:mysql_file_writes */
SELECT CAST(SUM(COUNT_WRITE) AS UNSIGNED) FROM performance_schema.file_summary_by_instance WHERE FILE_NAME LIKE '%/shop/t.ibd';
