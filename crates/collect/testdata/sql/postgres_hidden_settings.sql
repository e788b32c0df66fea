/* iostall:postgres_hidden_settings */
-- How many of the settings that are nobody's business the collector's login sees.
SET ROLE iostall;
SELECT count(*) FROM pg_settings WHERE name IN ('primary_conninfo', 'data_directory');
