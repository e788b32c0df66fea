#!/usr/bin/env python3
"""iostall beside an older iostall: load, copy, backup and collect cost no more than they did.

    cargo build --release && benchsuite/before_after.py OLDER_BINARY [--directory DIR] [--rounds 60] [--only collect]

With --writes direct writes too, which are not judged: every block that is written has content of its own since then, which costs a pass
over its memory; the rows say how much. Throughput is measured on a loop device over tmpfs, where no neighbour's I/O is in the way; on the disk under DIR, whose speed is
others' affair, requests or GiB by CPU second. Collecting is measured over 11 samples, so that the start of the program, which is larger
than it was, is a small part of it. --only measures the cases whose names begin so again and keeps the other rows of the file. Judged as intervals.py says, against 0.98. Writes results/before_after.md.
As root, for the loop device.
"""

import argparse
import json
import os
import platform
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

import intervals
from media import GIB, Loop

HERE = Path(__file__).resolve().parent
OURS = HERE.parent / "target" / "release" / "iostall"
RESULT = HERE / "results" / "before_after.md"
BOUND = 0.98
# Whose secret half nobody needs here.
RECIPIENT = "age1ankj4w02sx3cksjh2fpdtw3leewmwh69jk6jq69sce3v9w0p447qkk6zu9"
WRITES = "direct writes of"


def run(command):
    """Runs a command to its end; returns what it printed, its CPU time and the time that passed, seconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)
    passed, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, passed


def load(target, depth, by_cpu, preset="random-read", block_size="4K"):
    def once(binary):
        # The file was made by one of the two; the other may not know its mark.
        consent = ["--overwrite", target] if preset == "random-write" else []
        out, cpu, _ = run([binary, "load", "--quiet", "--no-store", "--preset", preset, "--block-size", block_size, "--workers", 1,
                           "--queue-depth", depth, *consent, "--warmup", "200ms", "--duration", "1s", "--json", "-", target])
        span = json.loads(out)["load"]["spans"][0]
        count = sum(cell["service_ns"]["count"] for cell in span["roles"][0]["cells"])
        return count / cpu if by_cpu else count / (span["measured_ns"] / 1e9)
    return once


def copy(source, destination, by_cpu):
    def once(binary):
        _, cpu, passed = run([binary, "copy", "--quiet", "--no-store", source, destination])
        os.remove(destination)
        os.sync()
        return os.path.getsize(source) / GIB / (cpu if by_cpu else passed)
    return once


def backup(source, *words):
    """To nowhere: what reading, checksums, compression and encryption cost."""
    def once(binary):
        _, cpu, _ = run([binary, "backup", "create", "--quiet", "--no-store", "--to", "null:", *words, source])
        return os.path.getsize(source) / GIB / cpu
    return once


def collect(directory):
    def once(binary):
        # Each has a store of its own, which is made once and not with every run.
        store = directory / f"collect-{'ours' if binary == OURS else 'older'}.db"
        if not store.exists():
            run([binary, "--store", store, "collect", "once", "linux:"])
        _, cpu, _ = run([binary, "--store", store, "collect", "run", "linux:", "--interval", "1s", "--duration", "10s"])
        return 1 / cpu
    return once


def cases(directory, loop, with_writes):
    on_disk, on_loop = directory / "t.dat", loop.mount / "source"
    subprocess.run([OURS, "load", "--quiet", "--no-store", "--size", "1GiB", "--duration", "100ms", "--warmup", "0", on_disk],
                   check=True, capture_output=True)
    for path in [on_loop, directory / "source"]:
        with open(path, "wb") as file:
            for _ in range(512):
                file.write(os.urandom(1 << 20))
    # Half of it compresses.
    with open(directory / "half", "wb") as file:
        for _ in range(1024):
            file.write(os.urandom(256 << 10) + bytes(256 << 10))
    os.sync()
    rows = [
        ("load, disk, depth 32: requests a CPU second", load(on_disk, 32, True)),
        ("load, loop device, depth 64: requests a second", load(loop.devices[1], 64, False)),
        (f"{WRITES} 4K, disk, depth 32: requests a CPU second", load(on_disk, 32, True, "random-write")),
        (f"{WRITES} 64K, disk, depth 8: requests a CPU second", load(on_disk, 8, True, "random-write", "64K")),
        ("copy 512 MiB, disk: GiB a CPU second", copy(directory / "source", directory / "copied", True)),
        ("copy 512 MiB, loop device: GiB a second", copy(on_loop, loop.mount / "copied", False)),
        ("backup 512 MiB with zstd, to nowhere: GiB a CPU second", backup(directory / "half", "--compress", "zstd:1")),
        ("backup 512 MiB with zstd, encrypted, to nowhere: GiB a CPU second",
         backup(directory / "half", "--compress", "zstd:1", "--encrypt-to", RECIPIENT)),
        ("collect linux: for 10 s: runs a CPU second", collect(directory)),
    ]
    return [row for row in rows if with_writes or not row[0].startswith(WRITES)]


def kept_rows(measured_again):
    """Rows of the last result that are not measured again; none if all are."""
    if not measured_again:
        return []
    lines = RESULT.read_text().splitlines()
    return [line for line in lines[lines.index("|---|---|---|---|---|---|") + 1:] if not line.startswith(f"| {measured_again}")]


def main():
    # A benchmark that is ended takes its devices down like one that ends by itself.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("older", type=Path)
    parser.add_argument("--directory", type=Path, default=Path("/var/tmp"))
    parser.add_argument("--rounds", type=int, default=intervals.ROUNDS_MAX)
    parser.add_argument("--writes", action="store_true")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="iostall-bench-", dir=options.directory))
    rows, failed = kept_rows(options.only), False
    try:
        with Loop() as loop:
            for title, once in cases(directory, loop, options.writes):
                if not title.startswith(options.only):
                    continue
                say = lambda text, title=title: print(f"{title}: {text}", file=sys.stderr)
                ratio, control, rounds = intervals.measure(
                    lambda: once(options.older), lambda: once(OURS), options.rounds, say)
                is_judged = not title.startswith(WRITES)
                said = intervals.verdict(ratio, control, BOUND) if is_judged else "the cost of fresh content"
                failed |= said.startswith("FAILS")
                rows.append(f"| {title} | {date.today()} | {ratio[0]:.3f} ({ratio[1]:.3f} to {ratio[2]:.3f}) "
                            f"| {control[0]:.3f} ({control[1]:.3f} to {control[2]:.3f}) | {rounds} | {said} |")
    finally:
        shutil.rmtree(directory)
    version = subprocess.run([options.older, "--version"], capture_output=True, text=True).stdout.strip()
    RESULT.write_text(
        "# iostall beside an older one\n\n"
        f"`benchsuite/before_after.py OLDER` on Linux {platform.release()}, {os.cpu_count()} processors; older: {version}. "
        "Ratio of ours to the older one, 95 % interval; the control is the older one beside itself, in the same rounds. "
        f"A row fails where the whole interval lies below {BOUND}.\n\n"
        "| case | measured on | ratio | control | rounds | verdict |\n|---|---|---|---|---|---|\n" + "\n".join(rows) + "\n")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
