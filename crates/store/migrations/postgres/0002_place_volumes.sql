/* iostall:postgres_0002_place_volumes */

/* What servers say of themselves when they send. */
ALTER TABLE iostall.server
    ADD COLUMN hostname       text,
    /* The iostall that sent last. */
    ADD COLUMN version        text,
    ADD COLUMN last_contact   timestamptz,
    /* How far its clock was ahead of this one's then; negative: after it. The way of the message is in it. */
    ADD COLUMN clock_ahead_ms bigint,
    /* When two machines were last noticed that send as this one server. */
    ADD COLUMN clone_noticed  timestamptz;

/* The boots of machines that have sent as a server. One that comes back after another is a second machine with the same store. */
CREATE TABLE iostall.server_boot (
    server          integer     NOT NULL REFERENCES iostall.server (number) ON DELETE CASCADE,
    boot            text        NOT NULL,
    hostname        text        NOT NULL,
    first_seen      timestamptz NOT NULL DEFAULT now(),
    last_seen       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (server, boot)
);

/* What a series lies on, by the name that its source has for it. A device of Linux is a volume itself. */
ALTER TABLE iostall.series ADD COLUMN lies_on text GENERATED ALWAYS AS (
    CASE WHEN kind = 'linux-device' THEN name || coalesce(' (' || volume || ')', '') ELSE volume END
) STORED;

/* One row a volume of a source. Two sources of one server have a row each. */
CREATE TABLE iostall.volume (
    number          integer     GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source          integer     NOT NULL REFERENCES iostall.source (number) ON DELETE CASCADE,
    name            text        NOT NULL,
    UNIQUE (source, name)
);

/* One row a device, wherever it is attached. */
CREATE TABLE iostall.device (
    number          integer     GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    /* What its identity is: cloud, nguid, eui, naa, uuid, t10, serial, sqlserver-volume, nfs, or a tag by hand. */
    kind            text        NOT NULL,
    identity        text        NOT NULL,
    model           text,
    first_seen      timestamptz NOT NULL DEFAULT now(),
    UNIQUE (kind, identity)
);

/* Which volume lay on which device from when to when: as far as it was seen, so that the first time is that of the first sight. */
CREATE TABLE iostall.volume_device (
    volume          integer     NOT NULL REFERENCES iostall.volume (number) ON DELETE CASCADE,
    device          integer     NOT NULL REFERENCES iostall.device (number),
    since           timestamptz NOT NULL DEFAULT now(),
    until           timestamptz,
    PRIMARY KEY (volume, device, since)
);

CREATE INDEX volume_device_by_device ON iostall.volume_device (device);

/* Which series lay on which volume from when to when. */
CREATE TABLE iostall.series_volume (
    series          integer     NOT NULL REFERENCES iostall.series (number) ON DELETE CASCADE,
    volume          integer     NOT NULL REFERENCES iostall.volume (number) ON DELETE CASCADE,
    since           timestamptz NOT NULL DEFAULT now(),
    until           timestamptz,
    PRIMARY KEY (series, volume, since)
);

CREATE INDEX series_volume_by_volume ON iostall.series_volume (volume);

INSERT INTO iostall.volume (source, name)
SELECT DISTINCT source, lies_on FROM iostall.series WHERE lies_on IS NOT NULL;

INSERT INTO iostall.series_volume (series, volume)
SELECT s.number, v.number
FROM iostall.series AS s JOIN iostall.volume AS v ON v.source = s.source AND v.name = s.lies_on;

/* Reports on all servers read a few days of everything: rows of a day lie together. */
CREATE INDEX rollup_day_by_time ON iostall.rollup_day USING brin (beginning) WITH (pages_per_range = 32);
CREATE INDEX rollup_hour_by_time ON iostall.rollup_hour USING brin (beginning) WITH (pages_per_range = 32);
