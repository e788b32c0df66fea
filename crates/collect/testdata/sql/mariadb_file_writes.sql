/* iostall:mariadb_file_writes */
SELECT CAST(SUM_NUMBER_OF_BYTES_WRITE AS UNSIGNED)
FROM performance_schema.file_summary_by_instance
WHERE FILE_NAME LIKE '%/shop/t.ibd'
