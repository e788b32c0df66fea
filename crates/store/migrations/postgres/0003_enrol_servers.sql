/* iostall:postgres_0003_enrol_servers */

/* Servers that send their history through the service at the centre, and the codes with which they join. docs/fleet.md explains
   both. */

/* One row a code, with which one server may join once. Of codes and keys there are only hashes (SHA-256). */
CREATE TABLE iostall.join_code (
    hash            bytea       PRIMARY KEY,
    /* What the server will be called. Without it, it is called as its host. */
    server_name     text,
    created         timestamptz NOT NULL DEFAULT now(),
    expires         timestamptz NOT NULL,
    /* When a server joined with it, and the hash of the key that it has made: the same server may ask again. */
    used            timestamptz,
    used_for        bytea
);

/* One row a server that has joined. */
CREATE TABLE iostall.member (
    server          integer     PRIMARY KEY REFERENCES iostall.server (number) ON DELETE CASCADE,
    name            text        NOT NULL,
    /* 'joined'; 'copied': two machines used its key in turn; 'revoked'. Only a server in the first state may send. */
    state           text        NOT NULL CHECK (state IN ('joined', 'copied', 'revoked')),
    state_since     timestamptz NOT NULL DEFAULT now(),
    joined          timestamptz NOT NULL DEFAULT now(),
    key_hash        bytea       NOT NULL UNIQUE,
    key_made        timestamptz NOT NULL DEFAULT now(),
    /* The key that replaces it as soon as it is used. */
    next_key_hash   bytea       UNIQUE,
    /* Its host, and the version of its iostall. */
    host            text,
    version         text,
    /* The machine, boot and file that its store is on, as a hash; those before; how often it went back to one of them since when. */
    instance        text,
    instances_before text[]     NOT NULL DEFAULT '{}',
    returns         integer     NOT NULL DEFAULT 0,
    returned        timestamptz,
    last_contact    timestamptz,
    /* How far its clock was ahead of that of the centre, milliseconds. */
    clock_ahead_ms  bigint
);
