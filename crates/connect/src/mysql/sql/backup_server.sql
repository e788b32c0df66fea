/* iostall:backup_server */
SELECT VERSION()                AS version,
       @@version_comment        AS version_comment,
       @@datadir                AS data_directory,
       @@innodb_page_size       AS page_bytes,
       @@lower_case_table_names AS lower_case_table_names
