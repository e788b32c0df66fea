/* iostall:put_instance */
UPDATE iostall.member
SET instance = $2, instances_before = $3, returns = $4, returned = CASE WHEN $5 THEN now() ELSE returned END
WHERE server = $1;
