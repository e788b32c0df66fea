/* iostall:test_release_change_function */
CREATE OR REPLACE FUNCTION monitor_orders() RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint';
