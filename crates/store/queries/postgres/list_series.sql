/* iostall:list_series */
SELECT number, kind, scope, scope_name, identity, name, volume FROM iostall.series WHERE source = $1;
