/* iostall:lake_add_table */
INSERT INTO iostall.iceberg_tables (catalog_name, table_namespace, table_name, metadata_location, iceberg_type)
VALUES ('iostall', 'fleet', $1, $2, 'TABLE') ON CONFLICT DO NOTHING;
