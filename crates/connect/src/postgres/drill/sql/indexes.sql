/* iostall:drill_indexes */
SELECT c.oid                          AS oid,
       n.nspname || '.' || c.relname  AS name
FROM pg_index AS i
     JOIN pg_class AS c ON c.oid = i.indexrelid
     JOIN pg_namespace AS n ON n.oid = c.relnamespace
     JOIN pg_am AS a ON a.oid = c.relam
WHERE a.amname = 'btree'
  AND c.relkind = 'i'
  AND c.relpersistence <> 't'
  AND i.indisready
  AND i.indisvalid
ORDER BY c.oid
