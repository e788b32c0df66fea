/* iostall:settings_files */
-- Growth and limits in pages of 8 KiB, or growth in percent.
SET LOCK_TIMEOUT 1000;
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
SELECT N'file ' + ISNULL(d.name, CONVERT(nvarchar(12), f.database_id)) + N'/' + f.name AS subject,
       v.name,
       v.value
FROM sys.master_files AS f
LEFT JOIN sys.databases AS d ON d.database_id = f.database_id
CROSS APPLY (VALUES
    (N'path',     CONVERT(nvarchar(400), f.physical_name)),
    (N'type',     CONVERT(nvarchar(60), f.type_desc)),
    (N'growth',   CASE WHEN f.growth = 0 THEN N'none'
                       WHEN f.is_percent_growth = 1 THEN CONVERT(nvarchar(12), f.growth) + N' %'
                       ELSE CONVERT(nvarchar(20), CONVERT(bigint, f.growth) * 8 / 1024) + N' MiB' END),
    (N'size max', CASE f.max_size WHEN -1 THEN N'unlimited' WHEN 0 THEN N'no growth'
                       ELSE CONVERT(nvarchar(20), CONVERT(bigint, f.max_size) * 8 / 1024) + N' MiB' END)
) AS v (name, value)
WHERE f.type IN (0, 1) AND d.source_database_id IS NULL;
