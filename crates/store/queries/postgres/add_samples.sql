/* iostall:add_samples */
-- Samples of a source in the order in which they were taken, and what its row says of the newest: one statement, because a
-- batch often has one sample.
WITH added AS (
    INSERT INTO iostall.sample (taken, taken_utc_ns, number, clock_ns, uptime_s, source, epoch, row_count)
    SELECT s.taken, s.taken_utc_ns, s.number, s.clock_ns, s.uptime_s, $1, s.epoch, s.row_count
    FROM unnest($2::timestamptz[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::integer[], $8::integer[])
      AS s (taken, taken_utc_ns, number, clock_ns, uptime_s, epoch, row_count)
)
UPDATE iostall.source
   SET last_number = $9,
       last_utc_ns = greatest(last_utc_ns, $10),
       appended = greatest(appended, $11),
       -- Where they have closed an hour, all up to the last of them is in the roll-ups.
       rolled_up_to = coalesce($12, rolled_up_to),
       rolled_up_utc_ns = coalesce($13, rolled_up_utc_ns)
 WHERE number = $1;
