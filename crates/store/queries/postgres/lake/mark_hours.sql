/* iostall:lake_mark_hours */
UPDATE iostall.source AS s SET forgot_hours = $2
 WHERE (s.forgot_hours IS NULL OR s.forgot_hours < $2)
   AND EXISTS (SELECT FROM iostall.rollup_hour AS h WHERE h.source = s.number AND h.beginning >= $1 AND h.beginning < $2);
