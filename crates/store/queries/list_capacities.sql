/* iostall:list_capacities */
SELECT capacity.run_number, capacity.record
  FROM capacity
  JOIN run ON run.number = capacity.run_number
 WHERE :device IS NULL OR capacity.device_key = :device OR capacity.device = :device
 ORDER BY run.started_utc DESC, run.number DESC, capacity.position;
