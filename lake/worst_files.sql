/* iostall:lake_worst_files */
-- The files that were waited for longest, of all servers and all time that is here. Times are nanoseconds.
SELECT max(server) AS server, max(source) AS source, kind, max(scope_name) AS scope_name, max(name) AS name, series_id,
       sum(covered_ns) AS covered_ns, sum(reads) AS reads, sum(writes) AS writes,
       coalesce(sum(read_bytes), 0) + coalesce(sum(write_bytes), 0) AS bytes,
       coalesce(sum(read_stall_ns), 0) + coalesce(sum(write_stall_ns), 0) + coalesce(sum(sync_stall_ns), 0) AS stall_ns
FROM hours
WHERE kind <> 'linux-device'
GROUP BY series_id, kind
HAVING coalesce(sum(read_stall_ns), 0) + coalesce(sum(write_stall_ns), 0) + coalesce(sum(sync_stall_ns), 0) > 0
ORDER BY stall_ns DESC, series_id
LIMIT 100;
