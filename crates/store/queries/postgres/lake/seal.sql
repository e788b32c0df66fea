/* iostall:lake_seal */
-- What a day holds, in a few words: they differ if a sample, a row or a part of an hour was added or deleted.
SELECT coalesce((SELECT sum(row_count) FROM iostall.sample WHERE taken >= $1 AND taken < $2)::bigint, 0) AS sample_rows,
       (SELECT count(*) FROM iostall.rollup_hour WHERE beginning >= $1 AND beginning < $2) AS hour_rows,
       coalesce((SELECT string_agg(format('%s:%s:%s:%s:%s', source, samples, first, last, rows), ' ' ORDER BY source)
                   FROM (SELECT source, count(*) AS samples, min(number) AS first, max(number) AS last, sum(row_count) AS rows
                           FROM iostall.sample WHERE taken >= $1 AND taken < $2 GROUP BY source) AS s), '')
    || '|' ||
       coalesce((SELECT string_agg(format('%s:%s:%s:%s', source, hours, covered, intervals), ' ' ORDER BY source)
                   FROM (SELECT source, count(*) AS hours, sum(covered_ns) AS covered, sum(intervals) AS intervals
                           FROM iostall.rollup_hour WHERE beginning >= $1 AND beginning < $2 GROUP BY source) AS h), '') AS seal;
