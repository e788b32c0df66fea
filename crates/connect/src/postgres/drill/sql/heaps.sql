/* iostall:drill_heaps */
SELECT c.oid                          AS oid,
       n.nspname || '.' || c.relname  AS name
FROM pg_class AS c
     JOIN pg_namespace AS n ON n.oid = c.relnamespace
     JOIN pg_am AS a ON a.oid = c.relam
WHERE a.amname = 'heap'
  AND c.relkind IN ('r', 't', 'm')
  AND c.relpersistence <> 't'
ORDER BY c.oid
