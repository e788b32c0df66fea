#!/usr/bin/env python3
"""The repository of a fleet: appending batches beside COPY of the same rows into the same table.

    cargo build --release --package iostall-store --example ingest && benchsuite/ingest.py [--rounds 30]

A private PostgreSQL 15 in memory. Ours is `append` of batches of one agent with 40 files, as a centre appends them: the
lock of the source, samples and their rows, roll-ups of the hours that a batch closes, and the commit, over one connection. The peer
is psql, which copies the very same rows of each batch (the same columns, binary, one transaction a batch) into the very same partitioned table,
over one connection that stays open. Tables are emptied before each run. Before the clock starts, each agent has appended one sample, and
psql has answered one query. Bytes of the log are those that the server writes over a run, of ours with everything that an append writes.

Judged as intervals.py says: in batches of 60 samples at least 0.7 of the peer's rows a second, in batches of one at least 0.25.
Writes results/ingest.md. The server ends with this.
"""

import argparse
import json
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

import intervals

HERE = Path(__file__).resolve().parent
POSTGRES = Path("/usr/lib/postgresql/15/bin")
NOBODY = 65534
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
SETTINGS = ["autovacuum=off", "shared_buffers=256MB", "max_wal_size=6GB", "checkpoint_timeout=1h", "listen_addresses=127.0.0.1"]
# What a file of SQL Server has; the example appends the same.
COLUMNS = ("taken, number, age_ms, source, series, reads, read_bytes, read_stall, writes, write_bytes, write_stall, size_bytes, handle")
# Samples in a batch, agents, batches of each, and the bound.
CASES = [(60, 4, 8, 0.7), (1, 10, 60, 0.25)]


class Server:
    """A server of its own, and a psql that stays connected."""

    def __init__(self, place):
        account = {"user": NOBODY, "group": NOBODY} if os.geteuid() == 0 else {}
        if account:
            os.chown(place, NOBODY, NOBODY)
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port = listener.getsockname()[1]
        subprocess.run([POSTGRES / "initdb", "-A", "trust", "-U", "postgres", "-N", "-E", "UTF8", "-D", place / "data"],
                       check=True, **QUIET, **account)
        settings = [word for setting in SETTINGS for word in ("-c", setting)]
        self.process = subprocess.Popen([POSTGRES / "postgres", "-D", place / "data", "-k", place, "-p", str(self.port), *settings],
                                        **QUIET, **account)
        command = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres"]
        for _ in range(300):
            if subprocess.run([*command, "-c", "SELECT"], **QUIET).returncode == 0:
                break
            time.sleep(0.1)
        self.psql = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, text):
        """Runs statements and commands of psql; what they print."""
        self.psql.stdin.write(f"{text}\n\\echo end of the answer\n")
        self.psql.stdin.flush()
        lines = []
        for line in self.psql.stdout:
            if line == "end of the answer\n":
                return lines
            lines.append(line.rstrip("\n"))
        sys.exit(f"psql ended: {text[:200]}")

    def url(self):
        return f"postgres://postgres@127.0.0.1:{self.port}/postgres"

    def log_bytes(self):
        return int(self.ask("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn;")[0])

    def empty(self):
        self.ask("TRUNCATE iostall.sample, iostall.sample_row, iostall.rollup_hour, iostall.rollup_day;")

    def stop(self):
        self.psql.stdin.close()
        self.psql.wait()
        self.process.terminate()
        self.process.wait()


class Case:
    """Batches of so many samples of one agent."""

    def __init__(self, server, program, place, samples, agents, batches):
        self.server, self.program, self.samples = server, program, samples
        self.words = [str(agents), str(samples), str(batches)]
        self.log = {"ours": [], "COPY": []}
        # Creates the repository too, and the rows that psql is to copy.
        subprocess.run([program, server.url(), *self.words], check=True, stdout=subprocess.DEVNULL)
        self.files, self.rows = self.write_files(place, agents, batches), agents * batches * samples * 40

    def write_files(self, place, agents, batches):
        """The rows of each batch that was just appended, as PostgreSQL itself writes them for COPY."""
        sources = self.server.ask(f"SELECT number FROM iostall.source ORDER BY number DESC LIMIT {agents};")
        files, commands = [], []
        for batch in range(batches):
            for source in sorted(sources, key=int):
                first = 2 + batch * self.samples
                path = place / f"{self.samples}-{batch}-{source}"
                commands.append(f"\\copy (SELECT {COLUMNS} FROM iostall.sample_row WHERE source = {source} AND number >= {first} "
                                f"AND number < {first + self.samples} ORDER BY number, series) TO '{path}' (FORMAT binary)")
                files.append(path)
        self.server.ask("\n".join(commands))
        return files

    def ours(self):
        self.server.empty()
        before = self.server.log_bytes()
        done = subprocess.run([self.program, self.server.url(), *self.words], check=True, capture_output=True, text=True)
        told = json.loads(done.stdout)
        self.log["ours"].append((self.server.log_bytes() - before) / told["rows"])
        return told["rows"] / told["seconds"]

    def peer(self):
        self.server.empty()
        before = self.server.log_bytes()
        commands = "\n".join(f"\\copy iostall.sample_row ({COLUMNS}) FROM '{path}' (FORMAT binary)" for path in self.files)
        began = time.monotonic()
        self.server.ask(commands)
        seconds = time.monotonic() - began
        self.log["COPY"].append((self.server.log_bytes() - before) / self.rows)
        return self.rows / seconds


def judged(server, program, place, case, rounds_max):
    """The row of a case, and whether it fails."""
    samples, agents, batches, bound = case
    measured = Case(server, program, place, samples, agents, batches)
    title = f"{samples} sample{'s' if samples > 1 else ''}"
    rates = {"ours": [], "COPY": []}

    def kept(name, run):
        rates[name].append(run())
        return rates[name][-1]

    ratio, control, rounds = intervals.measure(lambda: kept("COPY", measured.peer), lambda: kept("ours", measured.ours), rounds_max,
                                               lambda text: print(f"{title}: {text}", file=sys.stderr))
    said = intervals.verdict(ratio, control, bound)
    cells = [title, f"{statistics.median(rates['ours']):,.0f}", f"{statistics.median(rates['COPY']):,.0f}",
             f"{ratio[0]:.3f} ({ratio[1]:.3f} to {ratio[2]:.3f})", f"{control[0]:.3f} ({control[1]:.3f} to {control[2]:.3f})",
             str(rounds), f"at least {bound}: {said}", f"{statistics.median(measured.log['ours']):.0f}",
             f"{statistics.median(measured.log['COPY']):.0f}"]
    return "| " + " | ".join(cells) + " |", not said.startswith("holds")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--program", type=Path, default=HERE.parent / "target" / "release" / "examples" / "ingest")
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="iostall-bench-", dir="/dev/shm"))
    lines, failed, busy = [], False, os.getloadavg()[0]
    server = Server(place)
    try:
        for case in CASES:
            line, fails = judged(server, options.program, place, case, options.rounds)
            failed |= fails
            lines.append(line)
            print(line, file=sys.stderr)
    finally:
        server.stop()
        shutil.rmtree(place)
    version = subprocess.run([POSTGRES / "postgres", "--version"], capture_output=True, text=True).stdout.strip()
    result = f"""# The repository of a fleet: appending beside COPY

`benchsuite/ingest.py --rounds {options.rounds}` on {time.strftime('%Y-%m-%d')}, Linux {platform.release()}, {os.cpu_count()} processors; {version}, \
in memory, default settings but for {", ".join(SETTINGS[:-1])}. Batches of one agent with 40 files and 8 counters each, over one connection; \
the peer is psql, which copies the same rows of each batch into the same table. Ratio of ours to the peer, 95 % interval; the control is the peer \
beside itself, in the same rounds. Rates are medians.

| batches of | ours, rows a second | COPY, rows a second | ratio | control | rounds | verdict | ours, bytes of log a row | COPY, bytes of log a row |
|---|---|---|---|---|---|---|---|---|
{chr(10).join(lines)}

Ours includes samples, epochs, roll-ups of hours and days, and the lock of the source. Load average of the machine at the beginning {busy:.1f}, \
at the end {os.getloadavg()[0]:.1f}.
"""
    (HERE / "results" / "ingest.md").write_text(result)
    print(result)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
