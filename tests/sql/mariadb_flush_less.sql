/* iostall:mariadb_flush_less */
SET GLOBAL innodb_flush_log_at_trx_commit = 2;
