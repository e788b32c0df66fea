/* iostall:drill_check_index */
SELECT {schema}.bt_index_check($1::oid::regclass)
