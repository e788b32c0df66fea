/* iostall:postgres_0006_push_releases */

/* Releases that go from the centre to servers, and who sends them. docs/push.md explains it. Servers check everything themselves:
   what is changed here by hand makes none of them do more than its own policy allows. */

/* One row a key of an operator (Ed25519: the public half). */
CREATE TABLE iostall.operator (
    key             text        PRIMARY KEY,
    name            text        NOT NULL,
    /* 'viewer' reads, 'operator' pushes, 'admin' makes operators, too; 'none' may nothing any more. */
    role            text        NOT NULL CHECK (role IN ('viewer', 'operator', 'admin', 'none')),
    since           timestamptz NOT NULL DEFAULT now()
);

/* What operators did, and what followed from it. Rows are added and never changed. */
CREATE TABLE iostall.push_log (
    number          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at              timestamptz NOT NULL DEFAULT now(),
    /* Who; NULL for what the centre did itself. */
    operator        text,
    what            text        NOT NULL,
    /* The action as its operator signed it, with the hash of the one before; NULL for what the centre did itself. */
    signed          text
);

CREATE FUNCTION iostall.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the log of pushes is never changed' USING ERRCODE = 'insufficient_privilege';
END
$$;

CREATE TRIGGER push_log_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON iostall.push_log
    FOR EACH STATEMENT EXECUTE FUNCTION iostall.refuse_change();

/* One row a release, whose file is in parts. */
CREATE TABLE iostall.release (
    /* SHA-256 of what was signed. */
    id              text        PRIMARY KEY,
    version         bigint      NOT NULL,
    /* Its objects, as its manifest has them. */
    objects         jsonb       NOT NULL,
    parts           integer     NOT NULL,
    added           timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE iostall.release_part (
    release         text        NOT NULL REFERENCES iostall.release (id) ON DELETE CASCADE,
    number          integer     NOT NULL,
    content         bytea       NOT NULL,
    PRIMARY KEY (release, number)
);

/* One row a release on its way to chosen servers. */
CREATE TABLE iostall.push (
    number          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    release         text        NOT NULL REFERENCES iostall.release (id),
    state           text        NOT NULL CHECK (state IN ('running', 'halted', 'done', 'undoing', 'undone')),
    /* The servers of rings up to this one are asked, of so many. */
    ring            integer     NOT NULL,
    rings           integer     NOT NULL,
    /* A number, or a share of the servers that were asked. With more that failed it halts. */
    failed_max      text        NOT NULL,
    /* The action that began it, and the one that undoes it, as their operators signed them. */
    action          text        NOT NULL,
    undo_action     text,
    /* The permit to undo it. */
    permit          text,
    begun           timestamptz NOT NULL DEFAULT now(),
    changed         timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE iostall.push_server (
    push            bigint      NOT NULL REFERENCES iostall.push (number),
    server          integer     NOT NULL REFERENCES iostall.server (number) ON DELETE CASCADE,
    ring            integer     NOT NULL,
    /* 'waiting' for its ring; 'asked' and 'undo': it has not answered yet; 'applied', 'failed', 'undone', 'undo-failed': it has;
       'left': nothing is wanted of it any more. */
    state           text        NOT NULL CHECK (state IN ('waiting', 'asked', 'applied', 'failed', 'undo', 'undone', 'undo-failed', 'left')),
    /* Why it failed, in the words of the server. */
    reason          text,
    reported        timestamptz,
    PRIMARY KEY (push, server)
);

CREATE INDEX push_server_by_server ON iostall.push_server (server, push);

/* One row a server whose agent asks for releases, as it last said. */
CREATE TABLE iostall.push_agent (
    server          integer     PRIMARY KEY REFERENCES iostall.member (server) ON DELETE CASCADE,
    /* By its own policy. */
    labels          jsonb       NOT NULL,
    platform        text        NOT NULL,
    /* What identifies the release that it has applied. */
    release         text,
    /* Every object that releases have put there: kind, name and hash as it is now. */
    objects         jsonb       NOT NULL,
    last_contact    timestamptz NOT NULL DEFAULT now()
);
