/* iostall:sqlite_snapshot */
-- The transaction begins with the first row that is read; from then on nothing changes for us.
SELECT page_size
FROM pragma_page_size, (SELECT count(*) FROM sqlite_schema)
