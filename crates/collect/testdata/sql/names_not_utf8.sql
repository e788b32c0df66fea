/* iostall:names_not_utf8 */
DO $$
BEGIN
  -- In Latin 1 these bytes are a word; in UTF-8 they are none.
  EXECUTE 'CREATE TABLE ' || quote_ident(convert_from('\x6be4736540', 'SQL_ASCII')) || ' AS SELECT generate_series(1, 1000) AS a';
  UPDATE pg_database SET datname = convert_from('\x6be47365', 'SQL_ASCII')::name WHERE datname = 'misnamed';
END
$$
