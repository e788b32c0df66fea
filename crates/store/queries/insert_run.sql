/* iostall:insert_run */
INSERT INTO run (id, kind, name, started_utc, ended_utc, host, tool_version, interrupted, warning_count,
                 measured_ns, block_size, iops, mib_per_s, latency_ns_p99)
VALUES (:id, :kind, :name, :started_utc, :ended_utc, :host, :tool_version, :interrupted, :warning_count,
        :measured_ns, :block_size, :iops, :mib_per_s, :latency_ns_p99);
