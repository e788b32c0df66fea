/* iostall:files */
-- One row per open file and instrument. Times are picoseconds. The server counts syncs together with open, close, stat and seek. Of
-- InnoDB's files, the binary and the relay log and Aria's log those are nearly all syncs, and are given as such; those of other files stay
-- "other": MyISAM seeks a million times. The instance's address tells a file from a later one of the same name.
-- The schema is the directory below the server's own, or that of a table which was put elsewhere; tablespaces, logs
-- and temporary files of the whole server belong to none.
SELECT CASE WHEN f.inside LIKE '%/%' AND f.inside NOT LIKE '#%'
            THEN SUBSTRING_INDEX(f.inside, '/', 1) ELSE '' END AS `database`,
       f.FILE_NAME                                    AS name,
       CONCAT_WS('|', f.FILE_NAME, f.EVENT_NAME, f.OBJECT_INSTANCE_BEGIN) AS identity,
       @@datadir                                      AS volume,
       f.COUNT_READ                                   AS `reads`,
       f.SUM_NUMBER_OF_BYTES_READ                     AS read_bytes,
       f.SUM_TIMER_READ                               AS read_stall,
       f.COUNT_WRITE                                  AS `writes`,
       f.SUM_NUMBER_OF_BYTES_WRITE                    AS write_bytes,
       f.SUM_TIMER_WRITE                              AS write_stall,
       CASE WHEN f.is_synced = 1 THEN f.COUNT_MISC END      AS syncs,
       CASE WHEN f.is_synced = 1 THEN f.SUM_TIMER_MISC END  AS sync_stall,
       CASE WHEN f.is_synced = 0 THEN f.COUNT_MISC END      AS others,
       CASE WHEN f.is_synced = 0 THEN f.SUM_TIMER_MISC END  AS other_stall
FROM (SELECT s.*,
             CASE WHEN s.EVENT_NAME LIKE 'wait/io/file/innodb/%' OR s.EVENT_NAME IN (
                      'wait/io/file/sql/binlog', 'wait/io/file/sql/relaylog', 'wait/io/file/aria/translog')
                  THEN 1 ELSE 0 END AS is_synced,
             CASE WHEN LEFT(s.FILE_NAME, CHAR_LENGTH(@@datadir)) = @@datadir
                  THEN SUBSTRING(s.FILE_NAME, CHAR_LENGTH(@@datadir) + 1)
                  WHEN s.FILE_NAME LIKE './%' THEN SUBSTRING(s.FILE_NAME, 3)
                  WHEN s.FILE_NAME LIKE '%/%.ibd' THEN SUBSTRING_INDEX(s.FILE_NAME, '/', -2)
                  ELSE '' END AS inside
      FROM performance_schema.file_summary_by_instance AS s) AS f
