/* iostall:backup_relation */
CREATE TABLE orders AS SELECT id, md5(id::text) AS note, repeat(md5((id * 7)::text), 8) AS rest FROM generate_series(1, 20000) AS id;
CHECKPOINT;
