/* iostall:take_rollups */
-- Deletes those of some hours and days, which are written again with what is added to them.
WITH hours AS (
    DELETE FROM iostall.rollup_hour
    WHERE source = $1 AND beginning = ANY ($2::timestamptz[])
    RETURNING beginning, series, covered_ns, intervals, reads_by_stall, writes_by_stall, {peaks}{counters}
), days AS (
    DELETE FROM iostall.rollup_day
    WHERE source = $1 AND beginning = ANY ($3::timestamptz[])
    RETURNING beginning, series, covered_ns, intervals, reads_by_stall, writes_by_stall, {peaks}{counters}
)
SELECT hours.*, false AS is_day FROM hours
UNION ALL
SELECT days.*, true FROM days;
