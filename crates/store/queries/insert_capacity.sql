/* iostall:insert_capacity */
INSERT INTO capacity (run_number, position, device_key, device, block_size, iops, mib_per_s, latency_ns_p99, record)
VALUES (:run_number, :position, :device_key, :device, :block_size, :iops, :mib_per_s, :latency_ns_p99, :record);
