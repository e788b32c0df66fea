/* iostall:files */
-- From 2014, and Managed Instance: stalls that the resource governor added have columns of their own. sample_ms is the
-- clock that goes with the counters.
-- The counters alone: what the files are called is asked for afterwards, because a lock in master must not keep the counters back.
SELECT N'database ' + CONVERT(nvarchar(12), v.database_id)                 AS [database],
       N'file ' + CONVERT(nvarchar(12), v.file_id)                         AS name,
       CONVERT(nvarchar(12), v.database_id) + N'/' + CONVERT(nvarchar(12), v.file_id) AS [identity],
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
FROM sys.dm_io_virtual_file_stats(NULL, NULL) AS v;
