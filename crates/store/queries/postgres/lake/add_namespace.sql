/* iostall:lake_add_namespace */
INSERT INTO iostall.iceberg_namespace_properties (catalog_name, namespace, property_key, property_value)
VALUES ('iostall', 'fleet', 'exists', 'true') ON CONFLICT DO NOTHING;
