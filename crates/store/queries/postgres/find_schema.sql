/* iostall:find_schema */
SELECT current_setting('server_version_num')::integer AS version,
       current_setting('server_encoding') AS encoding,
       pg_is_in_recovery() AS is_standby,
       (SELECT count(*) FROM pg_namespace WHERE nspname = 'iostall') AS schemas,
       (SELECT count(*) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = 'iostall')
     + (SELECT count(*) FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace WHERE n.nspname = 'iostall')
     + (SELECT count(*) FROM pg_type AS t JOIN pg_namespace AS n ON n.oid = t.typnamespace WHERE n.nspname = 'iostall') AS objects,
       (SELECT obj_description(c.oid, 'pg_class')
          FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
         WHERE n.nspname = 'iostall' AND c.relname = 'repository' AND c.relkind = 'r') AS mark;
