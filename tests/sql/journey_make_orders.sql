/* iostall:journey_make_orders */
CREATE TABLE orders AS
SELECT n, repeat('x', 500) AS note
  FROM generate_series(1, 20000) AS series (n);
