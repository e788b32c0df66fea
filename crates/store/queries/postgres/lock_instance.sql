/* iostall:lock_instance */
SELECT instance, instances_before, returns, coalesce(returned > now() - interval '1 hour', false)
FROM iostall.member WHERE server = $1 FOR UPDATE;
