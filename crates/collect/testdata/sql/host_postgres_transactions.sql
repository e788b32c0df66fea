/* iostall:host_postgres_transactions */
-- Small transactions all over the table, each flushed at its commit: what pgbench does.
DO $$
BEGIN
  FOR turn IN 1..500 LOOP
    UPDATE accounts SET balance = balance + turn WHERE id = 1 + turn * 7919 % 100000;
    INSERT INTO history VALUES (turn, turn);
    COMMIT;
  END LOOP;
END
$$;
