/* iostall:test_change_log */
DO $$
DECLARE
    refused integer := 0;
    statement text;
BEGIN
    FOREACH statement IN ARRAY ARRAY['UPDATE iostall.push_log SET what = $x$x$x$', 'DELETE FROM iostall.push_log', 'TRUNCATE iostall.push_log'] LOOP
        BEGIN
            EXECUTE statement;
        EXCEPTION WHEN insufficient_privilege THEN
            refused := refused + 1;
        END;
    END LOOP;
    IF refused <> 3 THEN
        RAISE EXCEPTION 'the log was changed';
    END IF;
END
$$;
