/* iostall:test_release_drop_function */
DROP FUNCTION monitor_orders();
