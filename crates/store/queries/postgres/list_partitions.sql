/* iostall:list_partitions */
SELECT child.relname::text AS name
FROM pg_inherits AS i
JOIN pg_class AS child ON child.oid = i.inhrelid
JOIN pg_class AS parent ON parent.oid = i.inhparent
JOIN pg_namespace AS n ON n.oid = parent.relnamespace
WHERE n.nspname = 'iostall' AND parent.relname::text = $1
ORDER BY child.relname;
