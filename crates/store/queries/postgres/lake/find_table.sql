/* iostall:lake_find_table */
SELECT metadata_location FROM iostall.iceberg_tables
WHERE catalog_name = 'iostall' AND table_namespace = 'fleet' AND table_name = $1;
