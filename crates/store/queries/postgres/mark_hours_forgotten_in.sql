/* iostall:mark_hours_forgotten_in */
UPDATE iostall.source AS s SET forgot_hours = $1
 WHERE EXISTS (SELECT FROM {partition} AS p WHERE p.source = s.number);
