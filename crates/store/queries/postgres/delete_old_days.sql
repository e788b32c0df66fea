/* iostall:delete_old_days */
DELETE FROM iostall.rollup_day WHERE beginning < $1;
