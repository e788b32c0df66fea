#!/usr/bin/env python3
"""iostall load beside fio: the cost of a request, as ratios within one run.

    cargo build --release && benchsuite/load.py [--rounds 5] [--seconds 8] [--directory DIR]

Both generators do 4 KiB random direct reads through io_uring with one worker and latency recording on, in
turn (A B A B ...), on one and the same file, made by iostall: at depth 128 on tmpfs, where no device is in the way
and the cost of the engine shows, and at depth 32 on a real file system. fio runs with the settings that
make it fastest here: registered buffers and files, batches, the processor's clock, no random map, threads.

What is compared is whole processes: requests over processor time, user and kernel, helper threads of
the kernel included, as the system accounts them when the process has ended. Medians over the rounds; the ratios
are taken round by round. The null engine gives the ceiling of our own loop. Writes results/load.md.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
IOSTALL = HERE.parent / "target" / "release" / "iostall"


def cpu_seconds(command):
    """Runs a command to its end; returns its output and the processor time it and its children took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return done.stdout, spent


def iostall(path, depth, seconds, engine="auto"):
    output, cpu = cpu_seconds(
        [IOSTALL, "load", "--quiet", "--no-store", "--preset", "random-read", "--block-size", "4K", "--workers", "1",
         "--queue-depth", str(depth), "--warmup", "0", "--duration", f"{seconds}s", "--engine", engine, "--json", "-"]
        + ([path] if path else []))
    run = json.loads(output)
    span = run["load"]["spans"][0]
    count = sum(cell["service_ns"]["count"] for cell in span["roles"][0]["cells"])
    read = next(iter(span["devices"]), {})
    size = read.get("read_bytes", 0) / read["read_requests"] if read.get("read_requests") else None
    return {"iops": count / (span["measured_ns"] / 1e9), "per_cpu_second": count / cpu, "device_bytes": size}


def fio(path, depth, seconds):
    options = {
        "name": "peer", "filename": path, "ioengine": "io_uring", "rw": "randread", "bs": "4k", "direct": 1,
        "iodepth": depth, "iodepth_batch_submit": min(32, depth), "iodepth_batch_complete_min": 1,
        "iodepth_batch_complete_max": min(32, depth), "fixedbufs": 1, "registerfiles": 1, "norandommap": 1,
        "random_generator": "tausworthe64", "clocksource": "cpu", "thread": 1, "time_based": 1, "runtime": seconds,
        "output-format": "json",
    }
    output, cpu = cpu_seconds(["fio"] + [f"--{key}={value}" for key, value in options.items()])
    read = json.loads(output[output.index("{"):])["jobs"][0]["read"]
    return {"iops": read["iops"], "per_cpu_second": read["total_ios"] / cpu}


def compare(title, path, depth, rounds, seconds):
    subprocess.run([IOSTALL, "load", "--quiet", "--no-store", "--size", "1GiB", "--duration", "200ms", "--warmup", "0",
                    path], check=True, capture_output=True)
    rows = []
    for number in range(rounds):
        ours, theirs = iostall(path, depth, seconds), fio(path, depth, seconds)
        rows.append((ours, theirs))
        print(f"{title}, round {number + 1}: iostall {1e6 / ours['per_cpu_second']:.2f} us CPU a request, "
              f"fio {1e6 / theirs['per_cpu_second']:.2f} us", file=sys.stderr)
    os.remove(path)
    median = lambda pick: statistics.median(pick(ours, theirs) for ours, theirs in rows)
    ratios = sorted(ours["per_cpu_second"] / theirs["per_cpu_second"] for ours, theirs in rows)
    sizes = [ours["device_bytes"] for ours, _ in rows if ours["device_bytes"]]
    return (f"| {title} | {median(lambda a, _: a['iops']):,.0f} | {median(lambda _, b: b['iops']):,.0f} "
            f"| {median(lambda a, _: 1e6 / a['per_cpu_second']):.2f} "
            f"| {median(lambda _, b: 1e6 / b['per_cpu_second']):.2f} "
            f"| **{statistics.median(ratios):.2f}** ({ratios[0]:.2f} to {ratios[-1]:.2f}) "
            f"| {f'{statistics.median(sizes) / 1024:.1f} KiB' if sizes else 'no device'} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--directory", default=".", help="on the file system with the real device")
    arguments = parser.parse_args()
    lines = [
        compare("tmpfs, depth 128", "/dev/shm/iostall-bench.dat", 128, arguments.rounds, arguments.seconds),
    ]
    with tempfile.TemporaryDirectory(dir=arguments.directory) as directory:
        path = os.path.join(directory, "bench.dat")
        lines.append(compare("real file, depth 32", path, 32, arguments.rounds, arguments.seconds))
    null = [iostall(None, 128, 3, "null")["per_cpu_second"] for _ in range(3)]
    version = subprocess.run(["fio", "--version"], capture_output=True, text=True).stdout.strip()
    result = "\n".join([
        "# iostall load beside fio",
        "",
        f"`benchsuite/load.py --rounds {arguments.rounds} --seconds {arguments.seconds}` on Linux "
        f"{platform.release()}, {os.cpu_count()} processors; {version}. Medians; the ratio is requests per processor-second, "
        "iostall over fio, round by round (lowest to highest).",
        "",
        "| case | IOPS iostall | IOPS fio | CPU µs a request, iostall | CPU µs a request, fio | ratio | mean read at the device |",
        "|---|---|---|---|---|---|---|",
        *lines,
        "",
        f"Null engine: {statistics.median(null) / 1e6:.1f} M requests a processor-second.",
        "",
    ])
    (HERE / "results" / "load.md").write_text(result)
    print(result)


if __name__ == "__main__":
    main()
