/* iostall:older_sqlite */
SELECT number, name, targets FROM run_entry;
