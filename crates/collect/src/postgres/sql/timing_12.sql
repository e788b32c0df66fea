/* iostall:timing */
-- Where track_io_timing is set for a database, a role or both: the server's setting does not count there. Names are
-- bytes: they may have been given in another encoding than this database's.
SELECT CASE WHEN e.is_raw THEN convert_to(d.datname, 'SQL_ASCII') ELSE textsend(d.datname) END AS database,
       CASE WHEN e.is_raw THEN convert_to(a.rolname, 'SQL_ASCII') ELSE textsend(a.rolname) END AS role,
       split_part(one.setting, '=', 2)::bool                                                 AS is_on
FROM pg_db_role_setting AS r
CROSS JOIN unnest(r.setconfig) AS one(setting)
CROSS JOIN (SELECT getdatabaseencoding() = 'SQL_ASCII') AS e(is_raw)
LEFT JOIN pg_database AS d ON d.oid = r.setdatabase
LEFT JOIN pg_roles AS a ON a.oid = r.setrole
WHERE one.setting LIKE 'track_io_timing=%'
ORDER BY r.setdatabase, r.setrole
