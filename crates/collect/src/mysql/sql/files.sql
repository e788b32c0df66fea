/* iostall:files */
-- One row per open file and instrument. Times are picoseconds. Syncs are part of "other" together with open,
-- close, stat and seek. The instance's address tells a file from a later one of the same name.
-- The schema is the directory of the file.
SELECT CASE WHEN FILE_NAME LIKE '%/%' AND EVENT_NAME LIKE 'wait/io/file/innodb/innodb_data_file'
            THEN SUBSTRING_INDEX(SUBSTRING_INDEX(FILE_NAME, '/', -2), '/', 1)
            ELSE '' END                               AS `database`,
       FILE_NAME                                      AS name,
       CONCAT_WS('|', FILE_NAME, EVENT_NAME, OBJECT_INSTANCE_BEGIN) AS identity,
       @@datadir                                      AS volume,
       COUNT_READ                                     AS `reads`,
       SUM_NUMBER_OF_BYTES_READ                       AS read_bytes,
       SUM_TIMER_READ                                 AS read_stall,
       COUNT_WRITE                                    AS `writes`,
       SUM_NUMBER_OF_BYTES_WRITE                      AS write_bytes,
       SUM_TIMER_WRITE                                AS write_stall,
       COUNT_MISC                                     AS others,
       SUM_TIMER_MISC                                 AS other_stall
FROM performance_schema.file_summary_by_instance
