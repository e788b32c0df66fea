/* iostall:files */
-- One row per open file and instrument. Times are picoseconds. Syncs are part of "other" together with open,
-- close, stat and seek. The instance's address tells a file from a later one of the same name.
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
       f.COUNT_MISC                                   AS others,
       f.SUM_TIMER_MISC                               AS other_stall
FROM (SELECT s.*,
             CASE WHEN LEFT(s.FILE_NAME, CHAR_LENGTH(@@datadir)) = @@datadir
                  THEN SUBSTRING(s.FILE_NAME, CHAR_LENGTH(@@datadir) + 1)
                  WHEN s.FILE_NAME LIKE './%' THEN SUBSTRING(s.FILE_NAME, 3)
                  WHEN s.FILE_NAME LIKE '%/%.ibd' THEN SUBSTRING_INDEX(s.FILE_NAME, '/', -2)
                  ELSE '' END AS inside
      FROM performance_schema.file_summary_by_instance AS s) AS f
