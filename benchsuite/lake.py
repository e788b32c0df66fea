#!/usr/bin/env python3
"""The lake: bytes a row of samples that were pulled from pgbench, idle rows and others apart.

    cargo build --release --package iostall --package iostall-lake && benchsuite/lake.py [--seconds 600]

A private PostgreSQL 15 with the tables of pgbench, in partitions, and as many that nobody uses; `iostall fleet pull` samples it every
second into a repository while pgbench runs at a rate, and there the rows are dated back three days. A row is
idle if no counter differs from the row before of its series. Three copies of the repository, with all rows, the idle ones and the others, are moved
to a lake each; bytes are those of the files of the table samples, with their footers.

Bounds: at most 4 bytes an idle row, and 16 a row that is not. Writes results/lake.md. The server ends with this.
"""

import argparse
import os
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
POSTGRES = Path("/usr/lib/postgresql/15/bin")
NOBODY = 65534
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
BOUNDS = {"idle": 4.0, "not idle": 16.0}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--iostall", default=str(HERE.parent / "target/release/iostall"))
    parser.add_argument("--lake", default=str(HERE.parent / "target/release/iostall-lake"))
    options = parser.parse_args()
    account = {"user": NOBODY, "group": NOBODY} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory() as text:
        place = Path(text)
        if account:
            os.chown(place, NOBODY, NOBODY)
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = str(listener.getsockname()[1])
        subprocess.run([POSTGRES / "initdb", "-A", "trust", "-U", "postgres", "-N", "-E", "UTF8", "-D", place / "data"],
                       check=True, **QUIET, **account)
        server = subprocess.Popen([POSTGRES / "postgres", "-D", place / "data", "-k", place, "-p", port, "-c",
                                   "listen_addresses=127.0.0.1", "-c", "track_io_timing=on"], **QUIET, **account)
        try:
            report(options, measured(options, place, port))
        finally:
            server.terminate()
            server.wait()


def measured(options, place, port):
    environment = dict(os.environ, PGHOST="127.0.0.1", PGPORT=port, PGUSER="postgres", TZ="UTC")
    run = lambda *line: subprocess.run(line, check=True, env=environment, stdout=subprocess.PIPE, text=True).stdout.strip()
    psql = lambda database, *line: run("psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", database, *line)
    url = lambda database: "postgres://postgres@127.0.0.1:%s/%s" % (port, database)
    for _ in range(300):
        if subprocess.run(["psql", "-d", "postgres", "-c", "SELECT"], env=environment, **QUIET).returncode == 0:
            break
        time.sleep(0.1)
    for database in ("load", "fleet"):
        psql("postgres", "-c", "CREATE DATABASE " + database)
    run("pgbench", "-i", "-q", "-s", "10", "--partitions", str(options.tables), "load")
    psql("load", "-v", "tables=%d" % options.tables, "-f", str(HERE / "lake/add_tables.sql"))
    sources = place / "fleet.toml"
    sources.write_text('interval = "1s"\nsource = [ { url = "%s" } ]\n' % url("load"))
    run(options.iostall, "fleet", "init", url("fleet"))
    bench = subprocess.Popen(["pgbench", "-n", "-c", "4", "-R", "50", "-T", str(options.seconds + 5), "load"], env=environment, **QUIET)
    line = [options.iostall, "fleet", "pull", url("fleet"), "--sources", str(sources), "--spool", str(place / "spool.db")]
    pull = subprocess.Popen(line, env=environment, **QUIET)
    bench.wait()
    pull.send_signal(signal.SIGINT)
    pull.wait()
    psql("fleet", "-f", str(HERE / "lake/date_back.sql"))
    results = {}
    for name, keep in (("all", "true"), ("idle", "is_idle"), ("not idle", "NOT is_idle")):
        database = "fleet_" + name.replace(" ", "_")
        psql("postgres", "-c", "CREATE DATABASE %s TEMPLATE fleet" % database)
        psql(database, "-v", "keep=" + keep, "-f", str(HERE / "lake/keep_rows.sql"))
        rows = int(psql(database, "-f", str(HERE / "lake/count_rows.sql")))
        lake = place / database
        run(options.lake, "move", url(database), "--to", str(lake), "--older-than", "1d")
        size = sum(path.stat().st_size for path in (lake / "samples/data").rglob("*.parquet"))
        results[name] = (rows, size)
    return results


def report(options, results):
    share = results["idle"][0] / results["all"][0]
    lines = ["# Lake: bytes a row", "",
             "`benchsuite/lake.py`, %d s of samples, one a second, from pgbench on PostgreSQL 15; %.0f %% of the rows are idle." %
             (options.seconds, 100 * share), "",
             "| Rows | number | bytes | bytes a row | bound | |", "|---|---|---|---|---|---|"]
    for name, (rows, size) in results.items():
        bound = BOUNDS.get(name)
        verdict = "" if bound is None else ("holds" if size / rows <= bound else "fails")
        lines.append("| %s | %d | %d | %.2f | %s | %s |" % (name, rows, size, size / rows, bound or "", verdict))
    text = "\n".join(lines) + "\n"
    (HERE / "results/lake.md").write_text(text)
    print(text)


main()
