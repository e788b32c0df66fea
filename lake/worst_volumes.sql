/* iostall:lake_worst_volumes */
-- The volumes whose files were waited for longest; those of Linux by what the host counted itself. Times are nanoseconds.
SELECT max(server) AS server, max(source) AS source, source_id, volume, kind = 'linux-device' AS is_device,
       sum(covered_ns) AS covered_ns, sum(reads) AS reads, sum(writes) AS writes,
       coalesce(sum(read_bytes), 0) + coalesce(sum(write_bytes), 0) AS bytes,
       coalesce(sum(read_stall_ns), 0) + coalesce(sum(write_stall_ns), 0) + coalesce(sum(sync_stall_ns), 0) AS stall_ns
FROM hours
WHERE volume IS NOT NULL
GROUP BY source_id, volume, kind = 'linux-device'
HAVING coalesce(sum(read_stall_ns), 0) + coalesce(sum(write_stall_ns), 0) + coalesce(sum(sync_stall_ns), 0) > 0
ORDER BY stall_ns DESC, source_id, volume, is_device
LIMIT 100;
