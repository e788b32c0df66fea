/* iostall:place_postgres_tables */
CREATE TABLE moved (id int PRIMARY KEY USING INDEX TABLESPACE fast) TABLESPACE fast;
CREATE TABLE kept (id int);
