/* iostall:drill_file */
SELECT pg_relation_filepath('account');
