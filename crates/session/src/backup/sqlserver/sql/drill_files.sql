/* iostall:drill_files */
-- @P1: the database. Its files, by which it is known again. No row if it does not exist.
SELECT CONVERT(bigint, d.database_id)             AS database_id,
       CONVERT(nvarchar(30), d.create_date, 126)  AS created,
       CONVERT(nvarchar(60), d.state_desc)        AS state,
       f.physical_name
FROM sys.databases AS d
LEFT JOIN sys.master_files AS f ON f.database_id = d.database_id
WHERE d.name = @P1;
