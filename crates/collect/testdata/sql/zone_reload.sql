/* iostall:zone_reload */
SELECT pg_reload_conf()
