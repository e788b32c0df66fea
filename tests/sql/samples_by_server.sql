/* iostall:test_samples_by_server */
SELECT o.appended,
       (SELECT count(DISTINCT s.number) FROM iostall.sample AS s WHERE s.source = o.number),
       (SELECT count(*) FROM iostall.sample_row AS r WHERE r.source = o.number),
       (SELECT sum(r.reads) FROM iostall.sample_row AS r WHERE r.source = o.number)
FROM iostall.source AS o ORDER BY o.id;
