#!/usr/bin/env python3
"""iostall collect: what a file in a sample costs, in processor time and in bytes, beside exporters that read the same.

    cargo build --release && benchsuite/collect.py [--files 10000] [--samples 18] [--interval 4] [--rounds 2] [--iostall FILE]

A private PostgreSQL and a private MariaDB (Debian's) with many tables each, their data in memory, so that no disk
is in the way. Between any two samples all tables, one in ten, or none are read, by chance more or less often, so that all rows
changed, some, or nearly none. `iostall collect run` is measured as a whole process: user and kernel time from start to end, reading, decoding,
differences, roll-ups, compression and writing included; the bytes are what the store file grew by over the run, after a
first `collect once` that names the files in it.

The peers read the same counters at the same interval, as far as they have them. Prometheus' exporters (Debian's) are
asked over HTTP; they store nothing and take no differences: that is left to the server behind them and not counted here. Telegraf
writes line protocol to a file; it takes no differences either.
Servers end when this does; results/collect.md is written.
"""

import argparse
import os
import platform
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
POSTGRES = Path("/usr/lib/postgresql/15/bin")
NOBODY = 65534
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

# What the PostgreSQL exporter is told to ask: it has no query of its own for blocks of tables in this version.
STATIO = """pg_statio:
  query: SELECT schemaname, relname, coalesce(heap_blks_read, 0) AS reads, coalesce(heap_blks_hit, 0) AS hits FROM pg_statio_all_tables WHERE schemaname <> 'pg_toast'
  metrics:
    - schemaname: {usage: LABEL}
    - relname: {usage: LABEL}
    - reads: {usage: COUNTER}
    - hits: {usage: COUNTER}
"""


def account():
    """Servers refuse to run as root."""
    return {"user": NOBODY, "group": NOBODY} if os.geteuid() == 0 else {}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def until(what, attempt):
    for _ in range(600):
        if attempt():
            return
        time.sleep(0.1)
    sys.exit(f"{what} did not come")


class Server:
    """A database server with `files` tables, and somebody who reads a share of them all the time."""

    def __init__(self, place, files):
        self.port, self.files, self.place = free_port(), files, place
        self.start()
        self.share, self.over, self.slowest = 0, threading.Event(), 0
        self.reader = threading.Thread(target=self.keep_reading, daemon=True)
        self.reader.start()

    def keep_reading(self):
        while not self.over.is_set():
            begin = time.monotonic()
            if self.share:
                self.run(self.touch(int(self.files * self.share)))
                self.slowest = max(self.slowest, time.monotonic() - begin)
            self.over.wait(0.2)

    def stop(self):
        self.over.set()
        self.reader.join()
        self.process.terminate()
        self.process.wait()


class Postgres(Server):
    name = "PostgreSQL 15, tables and indexes"
    telegraf = """[[inputs.postgresql_extensible]]
  address = "host=127.0.0.1 port={port} user=postgres dbname=postgres sslmode=disable"
  [[inputs.postgresql_extensible.query]]
    sqlquery = "SELECT schemaname, relname, relid::text, coalesce(heap_blks_read, 0) AS reads, coalesce(heap_blks_hit, 0) AS hits FROM pg_statio_all_tables WHERE schemaname <> 'pg_toast'"
    tagvalue = "schemaname,relname,relid"
    measurement = "statio"
"""

    def start(self):
        subprocess.run([POSTGRES / "initdb", "-A", "trust", "-U", "postgres", "-N", "-D", self.place / "data"],
                       check=True, **QUIET, **account())
        settings = ["fsync=off", "autovacuum=off", "track_io_timing=on", "track_wal_io_timing=off", "shared_buffers=64MB",
                    "max_locks_per_transaction=1024", "listen_addresses=127.0.0.1"]
        self.process = subprocess.Popen(
            [POSTGRES / "postgres", "-D", self.place / "data", "-k", self.place, "-p", str(self.port)]
            + [part for setting in settings for part in ("-c", setting)], **QUIET, **account())
        until("PostgreSQL", lambda: self.run("SELECT 1") == 0)
        for first in range(0, self.files, 500):
            self.run(f"DO $$ BEGIN FOR i IN {first}..{min(first + 500, self.files) - 1} LOOP "
                     "EXECUTE format('CREATE TABLE t%s AS SELECT generate_series(1, %s) AS id', i, 1 + i * 7919 % 1000); "
                     "END LOOP; END $$")

    def run(self, text):
        return subprocess.run(["psql", "-q", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-c", text],
                              **QUIET).returncode

    def touch(self, count):
        return (f"DO $$ BEGIN FOR i IN 0..{count - 1} LOOP FOR turn IN 0..floor(random() * 2) LOOP "
                "EXECUTE 'SELECT count(*) FROM t' || i; END LOOP; END LOOP; END $$")

    def url(self):
        return f"postgres://postgres@127.0.0.1:{self.port}/postgres"

    def exporter(self, port):
        queries = self.place / "queries.yaml"
        queries.write_text(STATIO)
        environment = {"DATA_SOURCE_NAME": f"postgresql://postgres@127.0.0.1:{self.port}/postgres?sslmode=disable"}
        return ("prometheus-postgres-exporter", environment,
                ["--extend.query-path", queries, "--disable-default-metrics", "--disable-settings-metrics",
                 "--web.listen-address", f"127.0.0.1:{port}"], "pg_statio_reads{")


class Mariadb(Server):
    """Each table is two files there: of its definition, which is read once, and of its rows."""

    name = "MariaDB, files"
    # Telegraf counts files by kind there, not one by one.
    telegraf = None

    def start(self):
        subprocess.run(["mariadb-install-db", "--no-defaults", f"--datadir={self.place / 'data'}",
                        "--auth-root-authentication-method=normal", "--skip-test-db"], check=True, **QUIET, **account())
        self.files //= 2
        limit = self.files + 4000
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.process = subprocess.Popen(
            ["mariadbd", "--no-defaults", f"--datadir={self.place / 'data'}", f"--socket={self.place / 'socket'}",
             f"--port={self.port}", "--bind-address=127.0.0.1", "--performance-schema=ON",
             f"--performance-schema-max-file-instances={limit * 3}", f"--performance-schema-max-file-handles={limit * 3}",
             f"--table-open-cache={limit}", f"--innodb-open-files={limit}", f"--open-files-limit={hard}",
             "--innodb-buffer-pool-size=16M", "--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0"],
            **QUIET, **account())
        until("MariaDB", lambda: self.run("SELECT 1") == 0)
        self.run("CREATE DATABASE shop")
        self.run(f"FOR i IN 0..{self.files - 1} DO EXECUTE IMMEDIATE CONCAT('CREATE TABLE shop.t', i, ' (id INT) ENGINE = InnoDB'); "
                 "END FOR")

    def run(self, text):
        if text.startswith("FOR"):
            text = f"DELIMITER //\nBEGIN NOT ATOMIC {text}; END//"
        return subprocess.run(["mariadb", "-h", "127.0.0.1", "-P", str(self.port), "-u", "root"], input=text.encode(),
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode

    def touch(self, count):
        return (f"FOR i IN 0..{count - 1} DO EXECUTE IMMEDIATE CONCAT('SELECT COUNT(*) INTO @rows FROM shop.t', i); "
                "END FOR")

    def url(self):
        return f"mysql://root@127.0.0.1:{self.port}"

    def exporter(self, port):
        environment = {"DATA_SOURCE_NAME": f"root@tcp(127.0.0.1:{self.port})/"}
        others = ["global_status", "global_variables", "slave_status", "info_schema.innodb_cmp",
                  "info_schema.innodb_cmpmem", "info_schema.query_response_time"]
        return ("prometheus-mysqld-exporter", environment,
                ["--collect.perf_schema.file_instances", "--collect.perf_schema.file_instances.remove_prefix=",
                 "--collect.perf_schema.file_instances.filter=.*"]
                + [f"--no-collect.{other}" for other in others] + ["--web.listen-address", f"127.0.0.1:{port}"],
                'mysql_perf_schema_file_instances_bytes{')


def ended(process):
    """CPU seconds of one process, when it has ended: others of ours start and end meanwhile."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def iostall(binary, server, samples, interval):
    """CPU and bytes of the store a row."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        store = Path(place) / "bench.db"
        once = subprocess.run([binary, "--store", store, "collect", "once", server.url()], check=True,
                              capture_output=True, text=True).stdout
        rows, size = int(re.search(r"(\d+) rows", once).group(1)), store.stat().st_size
        process = subprocess.Popen([binary, "--store", store, "collect", "run", "--interval", f"{interval}s",
                                    "--duration", f"{samples * interval}s", server.url()],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = process.stderr.read()
        cpu = ended(process)
        kept = int(re.search(r"kept (\d+) samples", said).group(1))
        return {"cpu_us": cpu * 1e6 / (kept * rows), "bytes": (store.stat().st_size - size) / (kept * rows), "rows": rows}


def exporter(server, samples, interval):
    """CPU a row of the exporter; None where it is not installed."""
    port = free_port()
    program, environment, arguments, wanted = server.exporter(port)
    if not shutil.which(program):
        return None
    process = subprocess.Popen([program, *arguments], env={**os.environ, **environment}, **QUIET)

    def ask():
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
        except OSError:
            return ""

    until(program, ask)
    for _ in range(samples):
        text = ask()
        time.sleep(interval)
    rows = sum(line.startswith(wanted) and 'mode="write"' not in line for line in text.splitlines())
    process.terminate()
    return {"cpu_us": ended(process) * 1e6 / ((samples + 1) * rows), "rows": rows}


def telegraf(server, samples, interval):
    """CPU and bytes of line protocol a row; None where it is not installed or has no such plugin."""
    if not shutil.which("telegraf") or not server.telegraf:
        return None
    out, settings = server.place / "telegraf.out", server.place / "telegraf.conf"
    settings.write_text(f'[agent]\n  interval = "{interval}s"\n  flush_interval = "{interval}s"\n  omit_hostname = true\n'
                        f"  metric_buffer_limit = {server.files * 4}\n  metric_batch_size = {server.files}\n"
                        f'[[outputs.file]]\n  files = ["{out}"]\n' + server.telegraf.format(port=server.port))
    process = subprocess.Popen(["telegraf", "--config", settings], **QUIET)
    time.sleep(samples * interval)
    process.terminate()
    cpu = ended(process)
    rows = sum(1 for _ in out.open())
    size = out.stat().st_size
    out.unlink()
    return {"cpu_us": cpu * 1e6 / rows, "bytes": size / rows}


def middle(all_rounds, key):
    """The median with the lowest and the highest."""
    values = sorted(one[key] for one in all_rounds)
    spread = f" ({values[0]:.2f} to {values[-1]:.2f})" if len(values) > 1 else ""
    return f"{statistics.median(values):.2f}{spread}"


def compare(server, arguments):
    lines = []
    for label, share in [("all", 1), ("one in ten", 0.1), ("none", 0)]:
        server.share = share
        time.sleep(5)
        server.slowest, rounds = 0, []
        for _ in range(arguments.rounds if share == 1 else 1):
            ours = iostall(arguments.iostall, server, arguments.samples, arguments.interval)
            peers = [peer(server, arguments.samples, arguments.interval) if share == 1 else None
                     for peer in (exporter, telegraf)]
            rounds.append((ours, *peers))
            print(f"{server.name}, {label} read: {rounds[-1]}", file=sys.stderr)
        ours = [one for one, _, _ in rounds]
        if server.slowest > arguments.interval:
            label += f" (one pass took {server.slowest:.1f} s)"
        cells = [f"{server.name}: {ours[0]['rows']:,}", label, middle(ours, "cpu_us"), middle(ours, "bytes")]
        for place in (1, 2):
            peer = [one[place] for one in rounds if one[place]]
            ratio = statistics.median(one[place]["cpu_us"] / one[0]["cpu_us"] for one in rounds if one[place]) if peer else 0
            cells.append(f"{middle(peer, 'cpu_us')}: **{ratio:.1f}** times" if peer else "–")
        peer = [one[2] for one in rounds if one[2]]
        cells.append(f"{statistics.median(one['bytes'] for one in peer):.0f}" if peer else "–")
        lines.append("| " + " | ".join(cells) + " |")
    server.stop()
    return lines


def version(*command):
    try:
        told = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return None
    return re.sub(r" \((branch|PostgreSQL).*?\)|, version|  Ver| for debian.*", "", next(iter((told.stdout + told.stderr).splitlines()), ""))


def telegraf_version():
    """Telegraf does not know its version where Go installed it; Go does."""
    path = shutil.which("telegraf")
    told = subprocess.run(["go", "version", "-m", path], capture_output=True, text=True).stdout if path else ""
    found = re.search(r"mod\s+github.com/influxdata/telegraf\s+v(\S+)", told)
    return f"Telegraf {found.group(1)}" if found else version("telegraf", "--version")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--samples", type=int, default=18)
    parser.add_argument("--interval", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--iostall", type=Path, default=HERE.parent / "target" / "release" / "iostall")
    arguments = parser.parse_args()
    lines, busy = [], os.getloadavg()[0]
    for kind in (Postgres, Mariadb):
        with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
            if os.geteuid() == 0:
                os.chown(place, NOBODY, NOBODY)
            lines += compare(kind(Path(place), arguments.files), arguments)
    versions = [version(*command) for command in (
        (POSTGRES / "postgres", "--version"), ("mariadbd", "--version"), ("prometheus-postgres-exporter", "--version"),
        ("prometheus-mysqld-exporter", "--version"))] + [telegraf_version()]
    result = "\n".join([
        "# iostall collect: the cost of a row",
        "",
        f"`benchsuite/collect.py --files {arguments.files} --samples {arguments.samples} --interval {arguments.interval} "
        f"--rounds {arguments.rounds}` on {time.strftime('%Y-%m-%d')}, Linux {platform.release()}, {os.cpu_count()} processors; "
        f"{'; '.join(filter(None, versions))}. Medians over the rounds (lowest to highest), "
        "of which the quieter cases have one; ratios are taken round by round. "
        "\"Read\" is the share of the tables that is read between any two samples: the rows of the others are idle.",
        "",
        "| rows a sample | read | CPU µs a row | store bytes a row | exporter, CPU µs a row: over ours | Telegraf, CPU µs a row: over ours "
        "| Telegraf, bytes a row |",
        "|---|---|---|---|---|---|---|",
        *lines,
        "",
        f"The bounds are 10 µs and 25 bytes. Load average of the machine at the beginning {busy:.1f}, at the end {os.getloadavg()[0]:.1f}.",
        "",
    ])
    (HERE / "results" / "collect.md").write_text(result)
    print(result)


if __name__ == "__main__":
    main()
