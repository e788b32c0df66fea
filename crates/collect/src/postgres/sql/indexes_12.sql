/* iostall:indexes */
-- Blocks read of every index of this database; those of TOAST tables count with their table. Keyed as tables are.
WITH place AS MATERIALIZED (
  -- Once a tablespace and not once a row: the location is read from a symbolic link. What has none is in the data
  -- directory, which iostall:place tells.
  SELECT t.oid, nullif(pg_tablespace_location(t.oid), '') AS directory
  FROM pg_tablespace AS t
)
-- Relations that all databases share have the same counters in each. Names are bytes: in a database without an
-- encoding they may be anything.
SELECT CASE WHEN c.relisshared THEN '(shared)'::bytea
            WHEN e.is_raw THEN convert_to(current_database(), 'SQL_ASCII')
            ELSE textsend(current_database()) END     AS database,
       CASE WHEN e.is_raw THEN convert_to(n.full_name, 'SQL_ASCII')
            ELSE textsend(n.full_name) END AS name,
       w.datid::text || '/' || s.indexrelid::text
         || CASE WHEN t.oid IN (1663, 1664) THEN '' ELSE '/' || t.oid::text END AS identity,
       CASE WHEN e.is_raw THEN convert_to(p.directory, 'SQL_ASCII')
            ELSE textsend(p.directory) END            AS volume,
       s.idx_blks_read                                AS reads,
       s.idx_blks_read * current_setting('block_size')::bigint AS read_bytes,
       s.idx_blks_hit                                 AS hits,
       round(extract(epoch FROM w.stats_reset) * 1000000)::bigint AS statistics_reset
FROM pg_statio_all_indexes AS s
JOIN pg_class AS c ON c.oid = s.indexrelid
JOIN pg_database AS d ON d.datname = current_database()
JOIN pg_stat_database AS w ON w.datid = CASE WHEN c.relisshared THEN 0 ELSE d.oid END
CROSS JOIN (SELECT getdatabaseencoding() = 'SQL_ASCII') AS e(is_raw)
CROSS JOIN LATERAL (SELECT coalesce(nullif(c.reltablespace, 0), d.dattablespace)) AS t(oid)
LEFT JOIN place AS p ON p.oid = t.oid
CROSS JOIN LATERAL (
  -- "a.b".c and a."b.c" are two.
  SELECT CASE WHEN position('.' in s.schemaname || s.indexrelname) > 0
              THEN quote_ident(s.schemaname) || '.' || quote_ident(s.indexrelname)
              ELSE s.schemaname || '.' || s.indexrelname END
) AS n(full_name)
WHERE s.schemaname <> 'pg_toast'
