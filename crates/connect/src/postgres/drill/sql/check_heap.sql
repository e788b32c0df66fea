/* iostall:drill_check_heap */
-- All arguments, each of its type: a function of fewer that somebody has put into the same schema would be called instead.
SELECT format('block %s: %s', blkno, msg) AS problem
FROM {schema}.verify_heapam($1::oid::regclass, false, false, 'none'::text, NULL::bigint, NULL::bigint)
LIMIT 5
