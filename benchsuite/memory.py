#!/usr/bin/env python3
"""The memory that `iostall copy` takes for each file of a tree, beside `rsync -a`.

    cargo build --release && benchsuite/memory.py [--rounds 8] [--iostall PROGRAM] [--directory /dev/shm] > benchsuite/results/memory.md

Both copy the same trees of small files: an empty one, one of 50,000 and one of 250,000. What the largest tree takes more than the
middle one, divided by the files that it has more, is the memory of a file: what a program takes for the files that it is copying at
a time is in both. What it takes beyond an empty tree, for all of it, is shown too. Counted are the peaks of resident memory, all
processes of a program together: rsync has three, which share hardly anything but their code. Two layouts, because rsync forgets a
directory once it is done with it: all files in one directory, and a thousand in each. A debug build of iostall may be given to try
the script; it takes the same for each file.
"""

import argparse
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

from intervals import difference_interval

HERE = Path(__file__).resolve().parent
SIZES = [0, 50_000, 250_000]
# layout: files in a directory
LAYOUTS = {"all in one directory": None, "1,000 in each directory": 1000}


def make_tree(path, files, in_each):
    path.mkdir()
    for number in range(files):
        if number % (in_each or files) == 0:
            directory = path / f"{number // (in_each or files):04}"
            directory.mkdir(parents=True)
        (directory / f"file-{number:07}").write_bytes(b"x")


def descendants(pid):
    """The process and all that it has started."""
    all_of, left = [], [pid]
    while left:
        one = left.pop()
        all_of.append(one)
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            left.extend(int(child) for child in task.read_text().split())
    return all_of


def peak_bytes(command):
    """The sum of the peaks of all processes of a command."""
    peaks = {}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    # A process that has ended and was not waited for has no memory left to ask for: the last look counts.
    while process.poll() is None:
        try:
            for pid in descendants(process.pid):
                for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                    if line.startswith("VmHWM:"):
                        peaks[pid] = int(line.split()[1]) << 10
        except OSError:
            pass
        time.sleep(0.002)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    return sum(peaks.values())


def bytes_a_file(command, trees, target):
    """Of each file beyond the middle tree, of each file beyond an empty tree, and the peak of the largest, bytes."""
    peaks = []
    for tree in trees:
        peaks.append(peak_bytes([*command, f"{tree}/" if command[0] == "rsync" else str(tree), str(target)]))
        shutil.rmtree(target)
    empty, middle, large = peaks
    return (large - middle) / (SIZES[2] - SIZES[1]), (large - empty) / SIZES[2], large


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--iostall", default=str(HERE.parent / "target" / "release" / "iostall"))
    parser.add_argument("--directory", default="/dev/shm")
    arguments = parser.parse_args()
    ours = [arguments.iostall, "--quiet", "copy", "--no-store"]
    version = lambda command: subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[0].strip()
    print("# Memory of a copy for each file\n")
    print(f"`benchsuite/memory.py --rounds {arguments.rounds}`, {date.today()}: trees of {SIZES[1]:,} and {SIZES[2]:,} files of one byte on tmpfs, "
          f"{version([arguments.iostall, '--version'])}, {version(['rsync', '--version'])}, Linux {platform.release()}. Bytes a file: what the larger tree takes more at its peak, all "
          "processes of a program together, divided by the files that it has more. Over all: the peak of the larger tree beyond that of an "
          "empty one, divided by all of its files, so with what is needed for those that are copied at a time.\n")
    print("| layout | iostall, bytes a file | rsync -a, bytes a file | iostall less rsync | 95 % interval | iostall, over all | rsync, over all | iostall, peak | rsync, peak |")
    print("|---|---:|---:|---:|---|---:|---:|---:|---:|")
    for name, in_each in LAYOUTS.items():
        with tempfile.TemporaryDirectory(prefix="memory.iostall-scratch-", dir=arguments.directory) as work:
            trees = [Path(work) / str(files) for files in SIZES]
            for tree, files in zip(trees, SIZES):
                make_tree(tree, files, in_each)
            target, rows = Path(work) / "copy", []
            for number in range(arguments.rounds):
                both = [lambda: bytes_a_file(ours, trees, target), lambda: bytes_a_file(["rsync", "-a"], trees, target)]
                # Who comes first changes from round to round.
                measured = [both[0](), both[1]()] if number % 2 == 0 else [both[1](), both[0]()][::-1]
                rows.append(measured)
                print(f"{name}: {measured}", file=sys.stderr)
            mean = lambda side, which: sum(row[side][which] for row in rows) / len(rows)
            # A difference, because what is nearly nothing has no ratio.
            middle, low, high = difference_interval([row[0][0] - row[1][0] for row in rows])
            print(f"| {name} | {mean(0, 0):.1f} | {mean(1, 0):.1f} | {middle:+.1f} | {low:+.1f} to {high:+.1f} | "
                  f"{mean(0, 1):.0f} | {mean(1, 1):.0f} | {mean(0, 2) / 2**20:.1f} MiB | {mean(1, 2) / 2**20:.1f} MiB |", flush=True)


main()
