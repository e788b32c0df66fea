/* iostall:drill_orders */
CREATE TABLE account AS SELECT n AS id, repeat(md5(n::text), 6) AS filler FROM generate_series(1, 30000) AS n;
ALTER TABLE account ADD PRIMARY KEY (id);
CHECKPOINT;
