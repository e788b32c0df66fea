#!/usr/bin/env python3
"""How long the tests in simulated time take in real time.

    benchsuite/simulated.py [--rounds 5] [--release]

Sweeps, matrices and an hour of collecting run on simulated devices and clocks. A wait in real time fails these tests
(`iostall_measure::clock::NoRealSleep`), so what they take is computing. Each test runs by itself, on one thread, several times;
the table has the median with the lowest and highest, and CPU time as a share of it: on a quiet machine it is close to 100 %.
Tests that must panic are left out. Builds what it needs, and writes results/simulated.md.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import time
from datetime import datetime, timezone
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
# Package, target as cargo names it, and the tests of it that run in simulated time.
SUITES = [("iostall-session", ["--test", "simulated"], ""), ("iostall-watch", ["--lib"], "simulation::")]


def binary(package, target, profile):
    """Builds the tests of `package`, and returns the path of their binary."""
    command = ["cargo", "test", "--locked", *profile, "--package", package, *target, "--no-run", "--message-format=json"]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    messages = (json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))
    built = [message["executable"] for message in messages
             if message["reason"] == "compiler-artifact" and message["profile"]["test"] and message.get("executable")]
    return built[-1]


def names(path, prefix):
    listed = subprocess.run([path, "--list", "--format", "terse", prefix], check=True, capture_output=True, text=True).stdout
    every = [line.removesuffix(": test") for line in listed.splitlines() if line.endswith(": test")]
    return [name for name in every if not name.endswith("would_be_noticed")]


def once(path, name):
    """Runs one test; returns the time that passed and its CPU time, seconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([path, "--exact", name, "--test-threads=1"], capture_output=True, text=True)
    passed, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0 or "1 passed" not in done.stdout:
        raise SystemExit(f"{name} failed:\n{done.stdout}{done.stderr}")
    return passed, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--release", action="store_true", help="time the optimised build")
    options = options.parse_args()
    profile = ["--release"] if options.release else []
    load_before = os.getloadavg()[0]
    rows, total = [], 0.0
    for package, target, prefix in SUITES:
        path = binary(package, target, profile)
        for name in names(path, prefix):
            runs = [once(path, name) for _ in range(options.rounds)]
            passed = [passed for passed, _ in runs]
            share = statistics.median(cpu / passed for passed, cpu in runs)
            total += statistics.median(passed)
            words = name.removeprefix(prefix).replace("_", " ")
            rows.append(f"| {package} | {words} | {statistics.median(passed):.2f} ({min(passed):.2f} to {max(passed):.2f}) | {share:.0%} |")
            print(rows[-1], flush=True)
    build = "release" if options.release else "debug"
    text = f"""# Tests in simulated time: what they take in real time

`benchsuite/simulated.py --rounds {options.rounds}{" --release" if options.release else ""}` on \
{datetime.now(timezone.utc):%Y-%m-%d}, Linux {platform.release()}, {os.cpu_count()} processors, {build} build. \
Medians over the rounds (lowest to highest), seconds; each test by itself, start of its process included.

| crate | test | seconds | CPU |
|---|---|---|---|
{chr(10).join(rows)}

All together {total:.1f} s. A wait in real time would fail them. \
Load average of the machine at the beginning {load_before:.1f}, at the end {os.getloadavg()[0]:.1f}.
"""
    (HERE / "results" / "simulated.md").write_text(text)


if __name__ == "__main__":
    main()
