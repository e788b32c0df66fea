/* iostall:lake_mark_samples */
UPDATE iostall.source AS s SET forgot_samples = true
 WHERE NOT s.forgot_samples
   AND EXISTS (SELECT FROM iostall.sample AS p WHERE p.source = s.number AND p.taken >= $1 AND p.taken < $2);
