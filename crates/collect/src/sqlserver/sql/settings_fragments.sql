/* iostall:settings_fragments */
-- Virtual log files: from 2016 SP2 on.
SELECT N'log ' + d.name                                                AS subject,
       N'fragments'                                                    AS name,
       CONVERT(nvarchar(20), COUNT_BIG(l.vlf_begin_offset))              AS value
FROM sys.databases AS d
CROSS APPLY sys.dm_db_log_info(d.database_id) AS l
WHERE d.state = 0 AND d.source_database_id IS NULL
GROUP BY d.name;
