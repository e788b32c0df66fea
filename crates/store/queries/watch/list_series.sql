/* iostall:list_series */
SELECT number, kind, database, identity, name, volume FROM watch_series WHERE source = :source;
