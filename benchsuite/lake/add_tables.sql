/* iostall:bench_lake_add_tables */
-- As many tables again that nobody uses.
SELECT format('CREATE TABLE idle_%s (a integer PRIMARY KEY)', n) FROM generate_series(1, :tables) AS n \gexec
