/* iostall:list_series */
SELECT number, kind, scope, scope_name, identity, name, volume FROM watch_series WHERE source = :source;
