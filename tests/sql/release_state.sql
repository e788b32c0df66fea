/* iostall:test_release_state */
SELECT has_table_privilege('monitor', 'orders', 'SELECT'),
       (SELECT md5(pg_get_functiondef(oid) || coalesce(proacl::text, '')) FROM pg_proc WHERE proname = 'monitor_orders'),
       (SELECT count(*) FROM pg_class WHERE relname = 'extra');
