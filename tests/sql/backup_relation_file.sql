/* iostall:backup_relation_file */
SELECT pg_relation_filepath('orders');
