/* iostall:mariadb_has_tls */
SELECT @@have_ssl = 'YES'
