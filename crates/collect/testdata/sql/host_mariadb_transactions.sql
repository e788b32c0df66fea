/* iostall:host_mariadb_transactions */
-- Small transactions all over the table, each flushed at its commit: what pgbench does.
BEGIN NOT ATOMIC
  FOR turn IN 1..500 DO
    UPDATE shop.accounts SET balance = balance + turn WHERE id = 1 + turn * 7919 % 100000;
    COMMIT;
  END FOR;
END
