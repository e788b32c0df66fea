/* iostall:history_filters */
-- The filters that the management database has samples of; NULL is all files.
SELECT DISTINCT s.filter_text AS [filter]
FROM iostall.sample AS s;
