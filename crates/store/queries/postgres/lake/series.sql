/* iostall:lake_series */
SELECT number, id::text, kind, scope, scope_name, identity, name, volume, lies_on FROM iostall.series WHERE source = $1 ORDER BY number;
