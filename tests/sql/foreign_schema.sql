/* iostall:test_foreign_schema */
CREATE SCHEMA iostall
    CREATE TABLE repository (theirs text);
