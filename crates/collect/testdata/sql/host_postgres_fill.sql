/* iostall:host_postgres_fill */
CREATE TABLE accounts (id int PRIMARY KEY, balance bigint NOT NULL, filler text NOT NULL);
CREATE TABLE history (id int NOT NULL, amount bigint NOT NULL);
INSERT INTO accounts SELECT g, 0, repeat('x', 400) FROM generate_series(1, 100000) AS g;
