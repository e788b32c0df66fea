/* iostall:test_add_operators */
-- A repository as version 9 left it: an operator has pushed settings, a program and statements to a server.
INSERT INTO iostall.server (id) VALUES ('7f0f5a6e-6a3b-4d7e-8e36-0a4a1c6d1f11');
INSERT INTO iostall.member (server, name, state, key_hash) SELECT number, 'db1', 'joined', '\x01' FROM iostall.server;
INSERT INTO iostall.operator (key, name, role) VALUES ('ed25519:00', 'anna', 'admin');
INSERT INTO iostall.push_log (operator, what, signed) VALUES ('anna', 'pushed release 1', 'signed');
INSERT INTO iostall.release (id, version, objects, parts)
VALUES ('first', 1, '[{"kind":"settings","name":"a.toml"},{"kind":"program","name":"x86_64-linux"},{"kind":"sql","name":"b.toml"}]', 0),
       ('second', 2, '[{"kind":"sql","name":"b.toml"}]', 0);
INSERT INTO iostall.push (release, state, ring, rings, failed_max, action) VALUES ('first', 'done', 1, 1, '0', 'signed');
INSERT INTO iostall.push_server (push, server, ring, state)
SELECT push.number, server.number, 1, 'applied' FROM iostall.push, iostall.server;
INSERT INTO iostall.push_agent (server, labels, platform, release, objects)
SELECT number, '{}', 'x86_64-linux', 'first', '[{"kind":"program","name":"x86_64-linux"},{"kind":"settings","name":"a.toml"}]' FROM iostall.server;
