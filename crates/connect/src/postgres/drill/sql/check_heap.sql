/* iostall:drill_check_heap */
SELECT format('block %s: %s', blkno, msg) AS problem
FROM verify_heapam($1::oid::regclass)
LIMIT 5
