#!/usr/bin/env python3
"""The repository of a fleet: how long reports on it take.

    cargo build --release && benchsuite/queries.py [--servers 500] [--files 40] [--days 7] [--raw-days 1] [--rounds 5] [--iostall FILE]

A private PostgreSQL 15 on the disk of --place with a repository that `iostall fleet init` made, filled by SQL: roll-ups of --days days,
and samples once a minute of the last --raw-days of them, each day in the order in which they would have come (a sample of each server, then
the next minute). The rest of the week would be six times the disk and is asked for by nobody: reports read roll-ups. Sizes are of all files, with
a table of 8 counters.

Each question is asked once after a restart of PostgreSQL (its own buffers are empty, and those of the system are not) and then --rounds times. Writes
results/queries.md. The server and its files go with this.
"""

import argparse
import os
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
POSTGRES = Path("/usr/lib/postgresql/15/bin")
NOBODY = 65534
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
# Filling needs no log; what is asked then has the settings of Debian, but for the buffers.
FILLING = ["fsync=off", "wal_level=minimal", "max_wal_senders=0", "autovacuum=off", "shared_buffers=256MB", "max_wal_size=2GB"]
ASKING = ["shared_buffers=512MB", "autovacuum=off"]

# Days and minutes end today at midnight UTC, so that whole days are asked for.
SERVERS = """
INSERT INTO iostall.server (id, hostname, version, last_contact) SELECT gen_random_uuid(), 'db' || n, '0.1.0', now() FROM generate_series(1, {servers}) AS n;
INSERT INTO iostall.source (id, server, name, last_utc_ns, last_number)
SELECT gen_random_uuid(), number, 'sqlserver://db' || number, extract(epoch FROM {end})::bigint * 1000000000, {samples} FROM iostall.server;
INSERT INTO iostall.epoch (id, source, document, clock) SELECT gen_random_uuid(), number, '{{}}', 'ticks' FROM iostall.source;
INSERT INTO iostall.series (id, source, kind, scope, scope_name, identity, name, volume)
SELECT gen_random_uuid(), s.number, 'sqlserver-file', 1, 'sales' || f / 4, f::text, 'E:\\data\\sales' || f || '.mdf', 'E:\\'
FROM iostall.source AS s, generate_series(0, {files} - 1) AS f ORDER BY s.number, f;
INSERT INTO iostall.volume (source, name) SELECT DISTINCT source, lies_on FROM iostall.series;
ANALYZE iostall.source, iostall.series;
"""
# Every tenth file is busy.
ROLLUPS = """
INSERT INTO iostall.{table} (beginning, source, series, covered_ns, intervals, reads, read_bytes, read_stall, writes, write_bytes, write_stall,
    reads_per_s_max, writes_per_s_max, read_bytes_per_s_max, write_bytes_per_s_max, read_stall_ns_max, write_stall_ns_max, queue_depth_max,
    reads_by_stall, writes_by_stall)
SELECT b, f.source, f.number, {seconds} * 1000000000::bigint, {seconds} / 60, n, n * 16384, n * (200000 + f.number % 97 * 9000), n / 3, n / 3 * 8192,
       n / 3 * 400000, n / 900.0, n / 2700.0, n * 18.0, n * 3.0, 5e6, 4e6, 2.5,
       ARRAY[68, n / 4, 72, n / 4, 76, n / 4, 80, n / 8, 84, n / 8], ARRAY[70, n / 6, 74, n / 6]
FROM generate_series({start}, {end} - interval '1 {unit}', interval '1 {unit}') AS b,
     iostall.series AS f, LATERAL (SELECT {seconds} * (CASE f.number % 10 WHEN 0 THEN 90 ELSE 3 END + f.number % 7)::bigint AS n) AS c
ORDER BY b, f.source, f.number;
"""
SAMPLES = """
INSERT INTO iostall.sample (taken, taken_utc_ns, number, clock_ns, source, epoch, row_count)
SELECT m, extract(epoch FROM m)::bigint * 1000000000, {number}, {number} * 60000000000, e.source, e.number, {files}
FROM iostall.epoch AS e, (SELECT {start} + interval '1 minute' * {number} AS m) AS t ORDER BY e.source;
INSERT INTO iostall.sample_row (taken, number, source, series, reads, read_bytes, read_stall, writes, write_bytes, write_stall, size_bytes, handle)
SELECT m, {number}, f.source, f.number, n, n * 16384, n * 300000, n / 3, n / 3 * 8192, n / 3 * 400000, (100 + f.number % 40) * 1073741824::bigint, f.number
FROM iostall.series AS f, (SELECT {start} + interval '1 minute' * {number} AS m, {number} * 180::bigint AS n) AS t ORDER BY f.source, f.number;
"""
# As docs/fleet.md has it, for the last whole day.
YESTERDAY = """
SELECT v.id AS server, s.name AS source, f.name AS file, r.read_stall / 1e9 AS seconds
FROM iostall.rollup_day AS r
JOIN iostall.series AS f ON f.number = r.series
JOIN iostall.source AS s ON s.number = r.source
JOIN iostall.server AS v ON v.number = s.server
WHERE r.beginning = date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' - interval '1 day'
ORDER BY r.read_stall DESC NULLS LAST
LIMIT 20
"""
ONE_DAY = """
SELECT r.taken, r.reads, r.read_stall, r.writes, r.write_stall
FROM iostall.sample_row AS r
WHERE r.source = (SELECT number FROM iostall.source WHERE name = 'sqlserver://db{server}')
  AND r.series = (SELECT f.number FROM iostall.series AS f JOIN iostall.source AS s ON s.number = f.source
                  WHERE s.name = 'sqlserver://db{server}' AND f.name = 'E:\\data\\sales7.mdf')
  AND r.taken >= {end} - interval '1 day' AND r.taken < {end}
ORDER BY r.number
"""


class Server:
    def __init__(self, place):
        self.account = {"user": NOBODY, "group": NOBODY} if os.geteuid() == 0 else {}
        if self.account:
            os.chown(place, NOBODY, NOBODY)
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port = listener.getsockname()[1]
        self.place = place
        if (place / "data").exists():
            return
        subprocess.run([POSTGRES / "initdb", "-A", "trust", "-U", "postgres", "-N", "-E", "UTF8", "-D", place / "data"], check=True, cwd="/",
                       **QUIET, **self.account)

    def start(self, settings):
        words = [word for setting in [*settings, "listen_addresses=127.0.0.1"] for word in ("-c", setting)]
        self.process = subprocess.Popen([POSTGRES / "postgres", "-D", self.place / "data", "-k", self.place, "-p", str(self.port), *words], cwd="/",
                                        **QUIET, **self.account)
        for _ in range(600):
            if subprocess.run([*self.psql(), "-c", "SELECT"], **QUIET).returncode == 0:
                return
            time.sleep(0.1)
        sys.exit("PostgreSQL did not start")

    def psql(self):
        return ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres"]

    def ask(self, text):
        done = subprocess.run(self.psql(), input=text, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"psql: {done.stderr}")
        return done.stdout

    def url(self):
        return f"postgres://postgres@127.0.0.1:{self.port}/postgres"

    def stop(self):
        self.process.terminate()
        self.process.wait()


def fill(server, options, end):
    """Everything that is asked for; each partition in the transaction that makes it, so that it needs no log."""
    start = f"({end} - interval '{options.days} days')"
    words = {"servers": options.servers, "files": options.files, "end": end, "start": start}
    server.ask(SERVERS.format(samples=options.raw_days * 1440, **words))
    months = server.ask(f"SELECT DISTINCT to_char(d AT TIME ZONE 'UTC', 'YYYY-MM-01') FROM generate_series({start}, {end}, interval '1 day') AS d;").split()
    for month in months:
        name = "rollup_hour_" + month[:7].replace("-", "_")
        server.ask(f"CREATE TABLE IF NOT EXISTS iostall.{name} PARTITION OF iostall.rollup_hour "
                   f"FOR VALUES FROM ('{month} 00:00+00') TO ('{month} 00:00+00'::timestamptz + interval '1 month');")
    began = time.monotonic()
    for table, seconds, unit in [("rollup_hour", 3600, "hour"), ("rollup_day", 86400, "day")]:
        server.ask("SET TIME ZONE 'UTC';" + ROLLUPS.format(table=table, seconds=seconds, unit=unit, **words))
        print(f"{table}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    for day in range(options.raw_days, 0, -1):
        first = f"({end} - interval '{day} days')"
        name = server.ask(f"SELECT to_char({first} AT TIME ZONE 'UTC', 'YYYY_MM_DD');").strip()
        text = ["BEGIN;"]
        for table in ("sample", "sample_row"):
            text.append(f"CREATE TABLE iostall.{table}_{name} PARTITION OF iostall.{table} FOR VALUES FROM ('{name.replace('_', '-')} 00:00+00') "
                        f"TO ('{name.replace('_', '-')} 00:00+00'::timestamptz + interval '1 day');")
        number = (options.raw_days - day) * 1440
        text += [SAMPLES.format(number=number + minute, files=options.files, start=f"({first} - interval '{number} minutes')") for minute in range(1440)]
        server.ask("".join(text) + "COMMIT;")
        print(f"raw: {time.monotonic() - began:.0f} s", file=sys.stderr)
    server.ask("VACUUM (ANALYZE);")


def sizes(server):
    text = """SELECT CASE WHEN c.relname LIKE 'sample_row%' THEN 'sample_row' WHEN c.relname LIKE 'sample%' THEN 'sample'
                          WHEN c.relname LIKE 'rollup_hour%' THEN 'rollup_hour' WHEN c.relname LIKE 'rollup_day%' THEN 'rollup_day' ELSE 'other' END,
                     sum(pg_total_relation_size(c.oid)) / 1048576, sum(greatest(c.reltuples, 0))
              FROM pg_class AS c WHERE c.relnamespace = 'iostall'::regnamespace AND c.relkind = 'r' GROUP BY 1 ORDER BY 2 DESC;"""
    rows = [line.split("|") for line in server.ask(text).splitlines()]
    return "\n".join(f"| {name} | {float(rows_):,.0f} | {float(mib):,.0f} |" for name, mib, rows_ in rows)


def timed(ask):
    began = time.monotonic()
    ask()
    return time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, default=500)
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--days", type=int, default=7)
    parser.add_argument("--raw-days", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--place", type=Path, default=HERE.parent / "target")
    parser.add_argument("--iostall", type=Path, default=HERE.parent / "target" / "release" / "iostall")
    parser.add_argument("--keep", action="store_true", help="leave the repository there, to be asked again with --filled")
    parser.add_argument("--filled", type=Path, help="a repository that --keep has left there, with the same numbers")
    options = parser.parse_args()
    place = options.filled.resolve() if options.filled else Path(tempfile.mkdtemp(prefix="iostall-bench-", dir=options.place))
    for parent in [place, *place.parents]:
        if not os.stat(parent).st_mode & 0o001 and parent != place:
            sys.exit(f"{parent} can be entered by its owner only: name another --place")
    server, busy = Server(place), os.getloadavg()[0]
    try:
        server.start(FILLING)
        end = "date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'"
        if not options.filled:
            subprocess.run([options.iostall, "fleet", "init", server.url()], check=True, stdout=subprocess.DEVNULL)
            fill(server, options, end)
        size = sizes(server)
        server.stop()
        server.start(ASKING)
        day = server.ask(f"SELECT to_char({end} AT TIME ZONE 'UTC', 'YYYY-MM-DD');").strip()
        report = [options.iostall, "fleet", "report", server.url(), "--json", "-"]
        week = [*report, "--since", f"{options.days}d"]
        whole = [*report, "--since", f"{options.days}d", "--until", f"{day}T00:00:00Z"]

        def run(words):
            return lambda: subprocess.run(words, check=True, stdout=subprocess.DEVNULL)

        questions = [
            (f"`iostall fleet report --since {options.days}d`", run(week)),
            (f"`iostall fleet report --since {options.days}d`, until the last midnight", run(whole)),
            ("`iostall fleet report --since 24h`", run([*report, "--since", "24h"])),
            ("the files that were waited for longest yesterday (the query of docs/fleet.md)", lambda: server.ask(YESTERDAY)),
            ("one file's day, every minute", lambda: server.ask(ONE_DAY.format(server=options.servers // 2, end=end))),
        ]
        lines = []
        for name, ask in questions:
            server.stop()
            server.start(ASKING)
            first = timed(ask)
            again = [timed(ask) for _ in range(options.rounds)]
            lines.append(f"| {name} | {first:.2f} | {statistics.median(again):.2f} | {max(again):.2f} |")
            print(lines[-1], file=sys.stderr)
    finally:
        server.stop()
        if options.keep or options.filled:
            print(f"the repository is in {place}", file=sys.stderr)
        else:
            shutil.rmtree(place)
    version = subprocess.run([POSTGRES / "postgres", "--version"], capture_output=True, text=True).stdout.strip()
    result = f"""# The repository of a fleet: how long reports take

`benchsuite/queries.py --servers {options.servers} --files {options.files} --days {options.days} --raw-days {options.raw_days} --rounds {options.rounds}` \
on {time.strftime('%Y-%m-%d')}, Linux {platform.release()}, {os.cpu_count()} processors; {version}, default settings but for {", ".join(ASKING)}. \
{options.servers} servers with {options.files} files each: roll-ups of {options.days} days, and samples of the last {options.raw_days}, one a minute.

| table | rows | MiB with indexes |
|---|---:|---:|
{size}

| question | first after a restart, s | then, median, s | slowest, s |
|---|---:|---:|---:|
{chr(10).join(lines)}

Load average of the machine at the beginning {busy:.1f}, at the end {os.getloadavg()[0]:.1f}.
"""
    (HERE / "results" / "queries.md").write_text(result)
    print(result)


if __name__ == "__main__":
    main()
