/* iostall:files */
-- Azure SQL Database: one database, no master_files, no volumes. Its number here need not be the one in sys.databases, so
-- it is found by its name. sample_ms is the clock that goes with the counters.
-- LEFT JOIN: without VIEW ANY DEFINITION, and for files that master does not list, the counters still count.
SET LOCK_TIMEOUT 1000;
SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED;
SELECT DB_NAME()                                                           AS [database],
       ISNULL(f.physical_name, N'file ' + CONVERT(nvarchar(12), v.file_id)) AS name,
       CONVERT(nvarchar(12), v.database_id) + N'/' + CONVERT(nvarchar(12), v.file_id)
         + N'/' + ISNULL(CONVERT(nvarchar(36), f.file_guid), N'')
         + N'/' + ISNULL(CONVERT(nvarchar(30), d.create_date, 126), N'')   AS [identity],
       CASE WHEN DATEDIFF(day, d.create_date, GETDATE()) BETWEEN 0 AND 20000
            THEN CONVERT(bigint, DATEDIFF(second, d.create_date, GETDATE())) * 1000 END AS age_ms,
       CONVERT(bigint, v.sample_ms)                                        AS sample_ms,
       CONVERT(bigint, v.num_of_reads)                                     AS reads,
       CONVERT(bigint, v.num_of_bytes_read)                                AS read_bytes,
       CONVERT(bigint, v.io_stall_read_ms)                                 AS read_stall,
       CONVERT(bigint, v.num_of_writes)                                    AS writes,
       CONVERT(bigint, v.num_of_bytes_written)                             AS write_bytes,
       CONVERT(bigint, v.io_stall_write_ms)                                AS write_stall,
       CONVERT(bigint, v.io_stall_queued_read_ms)                          AS queued_read_stall,
       CONVERT(bigint, v.io_stall_queued_write_ms)                         AS queued_write_stall,
       CONVERT(bigint, v.size_on_disk_bytes)                               AS size_bytes,
       CONVERT(bigint, CONVERT(binary(8), v.file_handle))                  AS handle
FROM sys.dm_io_virtual_file_stats(DB_ID(), NULL) AS v
LEFT JOIN sys.database_files AS f ON f.file_id = v.file_id
LEFT JOIN sys.databases AS d ON d.name = DB_NAME();
