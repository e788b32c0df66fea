/* iostall:test_lake_moves */
SELECT count(*) FROM iostall.lake_move;
