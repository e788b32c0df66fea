/* iostall:connectable */
-- The other databases with relations of their own. Templates are left out: a session in one would stop CREATE
-- DATABASE. So are those whose DROP was interrupted (connection limit -2).
SELECT datname                                      AS name,
       has_database_privilege(oid, 'CONNECT')       AS may_connect
FROM pg_database
WHERE datallowconn AND NOT datistemplate AND datconnlimit <> -2 AND datname <> current_database()
ORDER BY oid
