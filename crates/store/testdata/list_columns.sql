/* iostall:test_list_columns */
SELECT column_name FROM information_schema.columns
WHERE table_schema = 'iostall' AND table_name = '$table' AND column_name NOT IN ('intervals')
ORDER BY ordinal_position;
