/* iostall:test_run_content */
SELECT count(*) || ' ' || coalesce(string_agg(concat_ws('|', v.id, r.number, r.id, r.kind, r.name, r.started, r.ended_utc_ns, r.interrupted,
           r.targets, r.iops, md5(r.document::text)), chr(10) ORDER BY v.id, r.number, r.id), '')
FROM iostall.run AS r JOIN iostall.server AS v ON v.number = r.server;
