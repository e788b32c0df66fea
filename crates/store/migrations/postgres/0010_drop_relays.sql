/* iostall:postgres_0010_drop_relays */

/* No server sends through a directory or a bucket any more. One that has joined so joins a centre, and its history stays. */
DROP TABLE iostall.relay_key;
