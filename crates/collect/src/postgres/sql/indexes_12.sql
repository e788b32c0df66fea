/* iostall:indexes */
-- Blocks read of every index of this database; those of TOAST tables count with their table.
SELECT current_database()                             AS database,
       s.schemaname || '.' || s.indexrelname          AS name,
       s.indexrelid::text                             AS identity,
       coalesce(nullif(pg_tablespace_location(coalesce(nullif(c.reltablespace, 0), d.dattablespace)), ''),
                CASE WHEN pg_has_role('pg_read_all_settings', 'USAGE')
                     THEN current_setting('data_directory') END) AS volume,
       s.idx_blks_read                                AS reads,
       s.idx_blks_read * current_setting('block_size')::bigint AS read_bytes,
       s.idx_blks_hit                                 AS hits,
       round(extract(epoch FROM w.stats_reset) * 1000000)::bigint AS statistics_reset
FROM pg_statio_all_indexes AS s
JOIN pg_class AS c ON c.oid = s.indexrelid
JOIN pg_database AS d ON d.datname = current_database()
JOIN pg_stat_database AS w ON w.datid = d.oid
WHERE s.schemaname <> 'pg_toast'
