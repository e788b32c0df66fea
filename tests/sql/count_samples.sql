/* iostall:test_count_samples */
SELECT (SELECT count(*) FROM iostall.server), (SELECT count(*) FROM iostall.source), (SELECT count(*) FROM iostall.sample),
       (SELECT count(*) FROM iostall.sample_row AS r JOIN iostall.sample AS s USING (source, number));
