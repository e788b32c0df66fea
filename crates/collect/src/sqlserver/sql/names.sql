/* iostall:names */
-- What the files are called, and since when their databases exist. CREATE and RESTORE DATABASE hold locks here for minutes: nothing waits
-- for them longer than a second, and what is not committed yet is good enough for a name. Without VIEW ANY DEFINITION rows are missing.
SET LOCK_TIMEOUT 1000;
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
SELECT ISNULL(d.name, N'database ' + CONVERT(nvarchar(12), f.database_id)) AS [database],
       f.physical_name                                                     AS name,
       CONVERT(nvarchar(12), f.database_id) + N'/' + CONVERT(nvarchar(12), f.file_id)
         + N'/' + ISNULL(CONVERT(nvarchar(36), f.file_guid), N'')
         + N'/' + ISNULL(CONVERT(nvarchar(30), d.create_date, 126), N'')   AS [identity],
       CASE WHEN DATEDIFF(day, d.create_date, GETDATE()) BETWEEN 0 AND 20000
            THEN CONVERT(bigint, DATEDIFF(second, d.create_date, GETDATE())) * 1000 END AS age_ms
FROM sys.master_files AS f
LEFT JOIN sys.databases AS d ON d.database_id = f.database_id;
