/* iostall:test_canary_commits */
DO $$
BEGIN
    CREATE TABLE commits (number integer);
    FOR number IN 1..4000 LOOP
        INSERT INTO commits VALUES (number);
        COMMIT;
    END LOOP;
END $$;
