/* iostall:users_make_orders */
CREATE TABLE orders (
  id serial,
  made timestamptz DEFAULT now()
);
