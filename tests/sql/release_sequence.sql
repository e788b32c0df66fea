/* iostall:test_release_sequence */
CREATE SEQUENCE numbers;
