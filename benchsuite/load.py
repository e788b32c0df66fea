#!/usr/bin/env python3
"""iostall load beside fio: the cost of a request, as ratios within one run.

    cargo build --release && benchsuite/load.py [--fio PROGRAM] [--rounds 60] [--seconds 2] [--directory DIR]

Both generators do 4 KiB random direct reads through io_uring with one worker and latency recording on, in turn, on one and the
same file: at depth 128 on tmpfs, where no device is in the way and the cost of the engine shows, and at depth 32 on the file system
under DIR. fio runs with the settings that make it fastest here: registered buffers and files, batches, the processor's clock, no
random map, threads.

What is compared is requests by CPU second of whole processes, user and kernel, helper threads of the kernel included, as the system
accounts them when the process has ended. Judged as intervals.py says. `--batch 16` has its own rows: beside fio that also waits for
16 completions, and what it does to our latencies beside a run without it. Writes results/load.md.
"""

import argparse
import json
import os
import platform
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import intervals

HERE = Path(__file__).resolve().parent
IOSTALL = HERE.parent / "target" / "release" / "iostall"
BATCH = 16


def cpu_seconds(command):
    """Runs a command to its end; returns its output and the CPU time it and its children took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


class Ours:
    """A run of iostall; remembers what it saw."""

    def __init__(self, path, depth, seconds, batch=None, engine="auto"):
        self.command = [IOSTALL, "load", "--quiet", "--no-store", "--preset", "random-read", "--block-size", "4K", "--workers", 1,
                        "--queue-depth", depth, "--warmup", "0", "--duration", f"{seconds}s", "--engine", engine, "--json", "-"]
        self.command += ["--batch", batch] if batch else []
        self.command += [path] if path else []
        self.iops, self.p50, self.p99, self.cost_us = [], [], [], []

    def __call__(self):
        output, cpu = cpu_seconds(self.command)
        span = json.loads(output)["load"]["spans"][0]
        cells = [cell["service_ns"] for cell in span["roles"][0]["cells"]]
        count = sum(cell["count"] for cell in cells)
        self.iops.append(count / (span["measured_ns"] / 1e9))
        self.cost_us.append(1e6 * cpu / count if count else float("inf"))
        self.p50.append(percentile(cells[0], 50) / 1e3)
        self.p99.append(percentile(cells[0], 99) / 1e3)
        return count / cpu


def percentile(histogram, percent):
    """Of a histogram as runs carry it: pairs of a bucket's upper end and how many are in it."""
    buckets, seen = histogram["buckets"], 0
    wanted = histogram["count"] * percent / 100
    for end, count in buckets:
        seen += count
        if seen >= wanted:
            return end
    return 0


class Fio:
    def __init__(self, program, path, depth, seconds, batch=None):
        options = {
            "name": "peer", "filename": path, "ioengine": "io_uring", "rw": "randread", "bs": "4k", "direct": 1,
            "iodepth": depth, "iodepth_batch_submit": min(32, depth), "iodepth_batch_complete_min": batch or 1,
            "iodepth_batch_complete_max": min(32, depth), "fixedbufs": 1, "registerfiles": 1, "norandommap": 1,
            "random_generator": "tausworthe64", "clocksource": "cpu", "thread": 1, "time_based": 1, "runtime": seconds,
            "output-format": "json",
        }
        self.command = [program] + [f"--{key}={value}" for key, value in options.items()]
        self.iops, self.cost_us = [], []

    def __call__(self):
        output, cpu = cpu_seconds(self.command)
        read = json.loads(output[output.index("{"):])["jobs"][0]["read"]
        self.iops.append(read["iops"])
        self.cost_us.append(1e6 * cpu / read["total_ios"] if read["total_ios"] else float("inf"))
        return read["total_ios"] / cpu


def row(title, bound, theirs, ours, rounds):
    """A row of the table; whether it fails; what ours saw."""
    say = lambda text: print(f"{title}: {text}", file=sys.stderr)
    ratio, control, done = intervals.measure(theirs, ours, rounds, say)
    verdict = intervals.verdict(ratio, control, bound)
    middle = statistics.median
    return (f"| {title} | {middle(ours.iops):,.0f} | {middle(theirs.iops):,.0f} | {middle(ours.cost_us):.2f} "
            f"| {middle(theirs.cost_us):.2f} | **{ratio[0]:.2f}** ({ratio[1]:.2f} to {ratio[2]:.2f}) "
            f"| {control[0]:.2f} ({control[1]:.2f} to {control[2]:.2f}) | {done} | ≥ {bound}: {verdict} |")


def cases(fio, on_memory, on_disk, rounds, seconds):
    rows, latencies = [], []
    for place, path, depth, bounds in [("tmpfs, depth 128", on_memory, 128, (2.0, 2.0)), ("disk, depth 32", on_disk, 32, (1.0, 1.3))]:
        one, many = Ours(path, depth, seconds), Ours(path, depth, seconds, BATCH)
        rows.append(row(f"{place}", bounds[0], Fio(fio, path, depth, seconds), one, rounds))
        rows.append(row(f"{place}, `--batch {BATCH}` beside fio's one by one", bounds[1], Fio(fio, path, depth, seconds), many, rounds))
        rows.append(row(f"{place}, `--batch {BATCH}` beside fio in batches of {BATCH}", 1.0, Fio(fio, path, depth, seconds, BATCH),
                        Ours(path, depth, seconds, BATCH), rounds))
        middle = statistics.median
        latencies.append(f"| {place} | {middle(one.p50):.0f} | {middle(many.p50):.0f} | {middle(one.p99):.0f} | {middle(many.p99):.0f} "
                         f"| {middle(one.iops):,.0f} | {middle(many.iops):,.0f} |")
    return rows, latencies


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fio", default="fio", help="the program to compare with")
    parser.add_argument("--rounds", type=int, default=intervals.ROUNDS_MAX)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--directory", default="/var/tmp", help="on the file system with the real device")
    options = parser.parse_args()
    # A benchmark that is ended removes its files like one that ends by itself.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory, tempfile.TemporaryDirectory(dir=options.directory) as disk:
        paths = [os.path.join(directory, "bench.dat") for directory in (memory, disk)]
        for path in paths:
            subprocess.run([IOSTALL, "load", "--quiet", "--no-store", "--size", "1GiB", "--duration", "200ms", "--warmup", "0", path],
                           check=True, capture_output=True)
        rows, latencies = cases(options.fio, *paths, options.rounds, options.seconds)
    null = statistics.median(Ours(None, 128, 3, engine="null")() for _ in range(3))
    version = subprocess.run([options.fio, "--version"], capture_output=True, text=True).stdout.strip()
    result = "\n".join([
        "# iostall load beside fio",
        "",
        f"`benchsuite/load.py --rounds {options.rounds} --seconds {options.seconds}` on Linux {platform.release()}, {os.cpu_count()} "
        f"processors; {version}. Requests by CPU second, iostall over fio, with its 95 % interval; the control is fio beside itself.",
        "",
        "| case | IOPS iostall | IOPS fio | CPU µs a request, iostall | CPU µs a request, fio | ratio | control | rounds | bound |",
        "|---|---|---|---|---|---|---|---|---|",
        *rows,
        "",
        f"What `--batch {BATCH}` does to our own latencies, µs, medians of the runs:",
        "",
        "| case | p50 without | p50 with | p99 without | p99 with | IOPS without | IOPS with |",
        "|---|---|---|---|---|---|---|",
        *latencies,
        "",
        f"Null engine: {null / 1e6:.1f} M requests a CPU second.",
        "",
    ])
    (HERE / "results" / "load.md").write_text(result)
    print(result)
    sys.exit(1 if any("FAILS" in line for line in rows) else 0)


if __name__ == "__main__":
    main()
