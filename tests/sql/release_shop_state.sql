/* iostall:test_release_shop_state */
SELECT count(*) FROM information_schema.ROUTINES WHERE ROUTINE_NAME = 'monitor_orders'
