/* iostall:delete_source */
-- Its epochs, series, gaps and warnings go with it (ON DELETE CASCADE).
DELETE FROM iostall.source WHERE number = $1;
