/* iostall:history_files */
-- The counters of the samples of one filter numbered @P1 to @P2, as they were read, under the names the files have now.
SELECT c.sample_id,
       f.database_name                                                     AS [database],
       f.physical_name                                                     AS name,
       f.identity_text                                                     AS [identity],
       f.volume,
       CASE WHEN f.first_sample_id = c.sample_id THEN f.first_age_ms END   AS age_ms,
       c.reads,
       c.read_bytes,
       c.read_stall_ms                                                     AS read_stall,
       c.writes,
       c.write_bytes,
       c.write_stall_ms                                                    AS write_stall,
       c.queued_read_stall_ms                                              AS queued_read_stall,
       c.queued_write_stall_ms                                             AS queued_write_stall,
       c.size_bytes,
       c.handle
FROM iostall.file_sample AS c
INNER JOIN iostall.sample AS s ON s.sample_id = c.sample_id
INNER JOIN iostall.data_file AS f ON f.file_key = c.file_key
WHERE c.sample_id >= @P1 AND c.sample_id <= @P2
  AND ISNULL(s.filter_text, N'') = @P3 COLLATE Latin1_General_BIN2
ORDER BY c.sample_id, c.file_key;
