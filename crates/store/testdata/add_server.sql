/* iostall:test_add_server */
INSERT INTO iostall.server (id) VALUES ('7f0f5a6e-6a3b-4d7e-8e36-0a4a1c6d1f11');
