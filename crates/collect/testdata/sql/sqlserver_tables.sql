/* iostall:test_sqlserver_tables */
SELECT COUNT_BIG(*) FROM sys.tables AS t INNER JOIN sys.schemas AS s ON t.schema_id = s.schema_id WHERE s.name = N'iostall';
