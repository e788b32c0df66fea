/* iostall:test_mark_postgres_0001 */
INSERT INTO iostall.repository (id, schema_version) VALUES ('01890a5d-ac96-774b-bcce-b302099a8057', 1);
