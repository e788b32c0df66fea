/* iostall:grants_mysql */
-- MariaDB and MySQL: one table, nothing else. Run as an administrator; choose the host part and a password.
CREATE USER 'iostall'@'localhost' IDENTIFIED BY 'choose-one' WITH MAX_USER_CONNECTIONS 5;
GRANT SELECT ON performance_schema.file_summary_by_instance TO 'iostall'@'localhost';
-- MariaDB has the Performance Schema switched off by default, and switches it on only at a start. In the
-- [mysqld] section of its configuration:
--   performance_schema = ON
