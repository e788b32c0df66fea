/* iostall:test_sqlserver_fill_table */
CREATE TABLE dbo.filler (a CHAR(8000) NOT NULL);
GO
INSERT INTO dbo.filler (a) SELECT TOP (2000) 'x' FROM sys.all_columns;
CHECKPOINT;
