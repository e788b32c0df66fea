/* iostall:journey_read_orders */
SELECT count(*) AS orders
  FROM orders;
