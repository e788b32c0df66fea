/* iostall:postgres_0005_add_relays */

/* Servers that send through a relay: a directory or a bucket between them and the centre. */
CREATE TABLE iostall.relay_key (
    server          integer     PRIMARY KEY REFERENCES iostall.member (server) ON DELETE CASCADE,
    /* What the server signs its files with: the public half (Ed25519). */
    public_key      bytea       NOT NULL,
    /* What authenticates confirmations for it (HMAC-SHA-256). */
    confirm_key     bytea       NOT NULL,
    /* The last of its files that was taken. */
    received        bigint      NOT NULL DEFAULT 0
);
