/* iostall:delete_capacities */
DELETE FROM capacity
 WHERE run_number = :run_number;
