#!/usr/bin/env python3
"""iostall fsync beside pg_test_fsync: the same calls on the same file system must give the same commits a second.

    cargo build --release && benchsuite/fsync.py [--pg-test-fsync PROGRAM] [--rounds 60] [--seconds 2] [--directory DIR]

For each method both run in turn, one committer each: fdatasync and fsync through the page cache, open_datasync and open_sync past it, which is
what pg_test_fsync does for them. pg_test_fsync measures all of its methods in one go, so a round takes its whole run and only the method in
question is compared. It writes the same block again and again; ours advances through the segment, as a log does. A ratio near one says that neither
adds anything to the calls; judged as intervals.py says, with the bound that ours is not slower than 0.95. Writes results/fsync.md.
"""

import argparse
import json
import os
import platform
import re
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import intervals

HERE = Path(__file__).resolve().parent
IOSTALL = HERE.parent / "target" / "release" / "iostall"
PG_TEST_FSYNC = "/usr/lib/postgresql/15/bin/pg_test_fsync"
BOUND = 0.95
# Ours, and the line of pg_test_fsync with the same calls.
METHODS = [("fdatasync", "fdatasync"), ("fsync", "fsync"), ("open_datasync_direct", "open_datasync"), ("open_sync_direct", "open_sync")]


class Ours:
    """Commits a second of one method."""

    def __init__(self, directory, method, seconds):
        self.command = [str(word) for word in [
            IOSTALL, "fsync", "--quiet", "--no-store", "--methods", method, "--committers", 1, "--duration", f"{seconds}s",
            "--json", "-", directory]]
        self.rates, self.p99 = [], []

    def __call__(self):
        done = subprocess.run(self.command, check=True, capture_output=True, text=True)
        step = json.loads(done.stdout)["summary"]["steps"][0]
        self.rates.append(step["commits_per_s"] or 0)
        self.p99.append(step["commit_ms_p99"] or 0)
        return self.rates[-1]


class Theirs:
    """The same of pg_test_fsync: the first part of its output, with one 8 kB write."""

    def __init__(self, program, directory, method, seconds):
        self.command = [program, "-f", os.path.join(directory, "pg_test_fsync.out"), "-s", str(seconds)]
        self.method, self.rates = method, []

    def __call__(self):
        process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        rate = 0
        in_part = False
        for line in process.stdout:
            in_part = in_part or "one 8kB write" in line
            found = re.match(rf"\s+{self.method}\s+([0-9.]+) ops/sec", line)
            if in_part and found:
                rate = float(found[1])
                break
        # The parts behind it are not needed. It removes its file when it is interrupted.
        process.send_signal(signal.SIGINT)
        process.communicate()
        self.rates.append(rate)
        return rate


def row(theirs_name, theirs, ours_name, ours, rounds):
    say = lambda text: print(f"{ours_name}: {text}", file=sys.stderr)
    ratio, control, done = intervals.measure(theirs, ours, rounds, say)
    middle = statistics.median
    return (f"| `{ours_name}` | `{theirs_name}` | {middle(ours.rates):,.0f} | {middle(theirs.rates):,.0f} | {middle(ours.p99):.2f} "
            f"| **{ratio[0]:.2f}** ({ratio[1]:.2f} to {ratio[2]:.2f}) | {control[0]:.2f} ({control[1]:.2f} to {control[2]:.2f}) "
            f"| {done} | ≥ {BOUND}: {intervals.verdict(ratio, control, BOUND)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pg-test-fsync", default=PG_TEST_FSYNC, help="the program to compare with")
    parser.add_argument("--rounds", type=int, default=intervals.ROUNDS_MAX)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--directory", default="/var/tmp", help="on the file system with the real device")
    options = parser.parse_args()
    # A benchmark that is ended removes its files like one that ends by itself.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    rows = []
    with tempfile.TemporaryDirectory(dir=options.directory) as place:
        for ours_name, theirs_name in METHODS:
            theirs = Theirs(options.pg_test_fsync, place, theirs_name, options.seconds)
            rows.append(row(theirs_name, theirs, ours_name, Ours(place, ours_name, options.seconds), options.rounds))
    version = subprocess.run([options.pg_test_fsync, "--version"], capture_output=True, text=True).stdout.strip()
    result = "\n".join([
        "# iostall fsync beside pg_test_fsync",
        "",
        f"`benchsuite/fsync.py --rounds {options.rounds} --seconds {options.seconds}` on Linux {platform.release()}, {os.cpu_count()} "
        f"processors; {version}. Commits a second, iostall over pg_test_fsync, with its 95 % interval; the control is pg_test_fsync "
        "beside itself.",
        "",
        "| iostall | pg_test_fsync | commits/s iostall | commits/s pg_test_fsync | p99 iostall, ms | ratio | control | rounds | bound |",
        "|---|---|---|---|---|---|---|---|---|",
        *rows,
        "",
    ])
    (HERE / "results" / "fsync.md").write_text(result)
    print(result)
    sys.exit(1 if any("FAILS" in line for line in rows) else 0)


if __name__ == "__main__":
    main()
