/* iostall:drill_check_index */
SELECT bt_index_check($1::oid::regclass)
