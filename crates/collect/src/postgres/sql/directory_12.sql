/* iostall:directory */
-- The data directory, from the function that the printed grants make.
SELECT CASE WHEN getdatabaseencoding() = 'SQL_ASCII' THEN convert_to(d.directory, 'SQL_ASCII')
            ELSE textsend(d.directory) END AS directory
FROM iostall.data_directory() AS d(directory)
