/* iostall:test_forge_part */
-- Who has the tables hands on another file.
UPDATE iostall.release_part SET content = decode('{hex}', 'hex') WHERE number = 0;
