/* iostall:users_orders */
SELECT count(*) AS orders
  FROM orders;
