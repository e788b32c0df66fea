/* iostall:lake_begin_move */
INSERT INTO iostall.lake_move (day, place, state) VALUES ($1::text::date, $2, 'writing') RETURNING number;
