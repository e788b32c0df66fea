/* iostall:connectable */
-- The other databases with relations of their own. Templates are left out: a session in one would stop CREATE
-- DATABASE. So are those whose DROP was interrupted (connection limit -2). Names are bytes: a database may have been
-- named in another encoding than this one's.
SELECT CASE WHEN e.is_raw THEN convert_to(datname, 'SQL_ASCII')
            ELSE textsend(datname) END AS name,
       has_database_privilege(oid, 'CONNECT')       AS may_connect
FROM pg_database,
     (SELECT getdatabaseencoding() = 'SQL_ASCII') AS e(is_raw)
WHERE datallowconn AND NOT datistemplate AND datconnlimit <> -2 AND datname <> current_database()
ORDER BY oid
