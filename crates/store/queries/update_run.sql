/* iostall:update_run */
UPDATE run
   SET ended_utc = :ended_utc, interrupted = :interrupted, warning_count = :warning_count,
       measured_ns = :measured_ns, block_size = :block_size, iops = :iops, mib_per_s = :mib_per_s,
       latency_ns_p99 = :latency_ns_p99
 WHERE number = :number AND interrupted = 1;
