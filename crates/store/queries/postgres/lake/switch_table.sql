/* iostall:lake_switch_table */
-- Only from the snapshot that the new one was made of: another program may have made one meanwhile.
UPDATE iostall.iceberg_tables SET metadata_location = $2, previous_metadata_location = $3
WHERE catalog_name = 'iostall' AND table_namespace = 'fleet' AND table_name = $1 AND metadata_location = $3;
