/* iostall:postgres_make_table */
CREATE TABLE t AS SELECT g AS id, repeat('x', 500) AS filler FROM generate_series(1, 20000) AS g;
