/* iostall:drill_amcheck_create */
-- A database need not have a schema public, but all of them have this one.
CREATE EXTENSION IF NOT EXISTS amcheck SCHEMA pg_catalog
