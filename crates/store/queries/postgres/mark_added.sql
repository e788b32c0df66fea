/* iostall:mark_added */
UPDATE iostall.source
   SET last_number = $2,
       last_utc_ns = greatest(last_utc_ns, $3),
       appended = greatest(appended, $4)
 WHERE number = $1;
