/* iostall:timescaledb_are_there */
-- A hypertable is an ordinary table; one with partitions of ours is not.
SELECT EXISTS (
    SELECT FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = 'iostall' AND c.relname = 'sample' AND c.relkind = 'r');
