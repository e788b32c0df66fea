/* iostall:test_sqlserver_objects */
SELECT COUNT_BIG(*) FROM sys.objects AS o WHERE o.schema_id = SCHEMA_ID(N'iostall') AND o.type IN ('P', 'V');
