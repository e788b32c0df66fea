/* iostall:mark_forgotten_in */
UPDATE iostall.source AS s SET forgot_samples = true
 WHERE NOT s.forgot_samples AND EXISTS (SELECT FROM {partition} AS p WHERE p.source = s.number);
