#!/usr/bin/env python3
"""iostall copy beside cp, dd, rclone and rsync: one incompressible file, and many small ones, in one run.

    cargo build --release && benchsuite/copy.py [--rounds 3] [--gib 4] [--files 100000] [--directory DIR]

Every tool copies the same file in turn to a new name, in another order each round, each followed by a sync of the
destination's file system, whose time counts. Each round is done twice: on warm memory (a throw-away buffered copy before it has made
the page cache's memory ready) and cold (after dropping the caches), because a buffered tool pays for fresh pages
then. Three destinations: the device of the source; a second device, which is ext4 on a loop device over memory
that is there before the first copy; and tmpfs. R and W are measured in the same rounds with the same buffers (iostall
verify, iostall write), and give the limit 1/(1/R + 1/W) on one device and min(R, W) on two. Tools that are not there are
left out; rsync runs in the first round only, because it takes longer than all others together. Needs root for
dropping caches and for the loop device. Writes results/copy.md.
"""

import argparse
import contextlib
import json
import os
import platform
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
IOSTALL = str(HERE.parent / "target" / "release" / "iostall")
GIB = 1 << 30


def timed(command, sync_at):
    """Runs a command and a sync of the file system at `sync_at`; returns seconds and processor seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    subprocess.run(["sync", "-f", sync_at], check=True)
    seconds, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def json_of(arguments):
    done = subprocess.run([IOSTALL, "--quiet", *arguments, "--no-store", "--json", "-"], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)


def large_tools(source, target):
    quiet = [IOSTALL, "--quiet", "copy", "--no-store", "--reflink", "never"]
    tools = {
        "iostall copy": [*quiet, source, target],
        "iostall copy, checksum in flight": [*quiet, "--verify=on-the-fly", source, target],
        "iostall copy, read back": [*quiet, "--verify", source, target],
        "cp": ["cp", "--reflink=never", source, target],
        "dd direct 1M": ["dd", f"if={source}", f"of={target}", "bs=1M", "iflag=direct", "oflag=direct"],
        "dd direct 8M": ["dd", f"if={source}", f"of={target}", "bs=8M", "iflag=direct", "oflag=direct"],
        "rclone, 4 streams": ["rclone", "copyto", "--multi-thread-streams", "4", "--ignore-checksum", source, target],
        "rsync --inplace": ["rsync", "--inplace", "-W", source, target],
    }
    return {name: command for name, command in tools.items() if shutil.which(command[0])}


def drop_caches():
    subprocess.run(["sync"], check=True)
    Path("/proc/sys/vm/drop_caches").write_text("3")


def warm_memory(source, beside):
    """A throw-away buffered copy: the memory of the page cache is then there, not the file."""
    scratch = beside / "warm.iostall-scratch"
    subprocess.run(["cp", "--reflink=never", source, scratch], check=True)
    os.remove(scratch)
    subprocess.run(["sync"], check=True)


def page_cache_bytes():
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Cached:"))


def large_table(source, directory, rounds, one_device, states=("warm", "cold")):
    size = os.path.getsize(source)
    target = directory / "target.iostall-scratch"
    out = []
    for state in states:
        rows, reads, writes, growth = {}, [], [], {}
        for number in range(rounds):
            order = list(large_tools(str(source), str(target)).items())
            random.Random(number).shuffle(order)
            for name, command in order:
                if name.startswith("rsync") and number > 0:
                    continue
                target.unlink(missing_ok=True)
                if state == "warm":
                    warm_memory(source, directory)
                    with open(source, "rb") as file:
                        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                else:
                    drop_caches()
                cached = page_cache_bytes()
                seconds, cpu = timed(command, str(directory))
                growth.setdefault(name, []).append(page_cache_bytes() - cached)
                rows.setdefault(name, []).append((seconds, cpu))
                print(f"{state} round {number + 1}: {name} {size / seconds / 2**20:,.0f} MiB/s", file=sys.stderr)
            manifest = directory / "list.iostall-scratch.xxh3"
            manifest.write_text("0" * 32 + f"  {source}\n")
            done = subprocess.run([IOSTALL, "--quiet", "verify", "--no-store", "--json", "-", str(manifest)],
                                  capture_output=True, text=True, check=False)
            read = json.loads(done.stdout)["verify"]
            reads.append(read["bytes"] / (read["elapsed_ns"] / 1e9))
            target.unlink(missing_ok=True)
            manifest.unlink()
            wrote = json_of(["write", "--methods", "direct", "--packet", "4M", "--size", str(size), str(target)])
            method = wrote["write"]["methods"][0]
            writes.append(method["bytes"] / ((method["elapsed_ns"] + method["sync_ns"]) / 1e9))
        target.unlink(missing_ok=True)
        read, write = statistics.median(reads), statistics.median(writes)
        limit = 1 / (1 / read + 1 / write) if one_device else min(read, write)
        median = {name: statistics.median(seconds for seconds, _ in runs) for name, runs in rows.items()}
        best = min((name for name in rows if not name.startswith("iostall")), key=median.get)
        ours = median["iostall copy"]
        # Round by round, because the machine is not the same from one minute to the next.
        ratios = sorted(theirs / mine for (mine, _), (theirs, _) in zip(rows["iostall copy"], rows[best]))
        hashed = statistics.median(
            hashed / plain for (plain, _), (hashed, _) in zip(rows["iostall copy"], rows["iostall copy, checksum in flight"]))
        one_read = size / read
        read_back = (median["iostall copy, read back"] - median["iostall copy, checksum in flight"]) / one_read
        out.append(f"\n{state} memory: R {read / 2**20:,.0f}, W {write / 2**20:,.0f} MiB/s, limit {limit / 2**20:,.0f}. "
                   f"iostall copy: **{statistics.median(ratios):.2f} ×** the best peer ({best}; "
                   f"{ratios[0]:.2f} to {ratios[-1]:.2f}), **{size / ours / limit:.2f}** of the limit. With a checksum in flight "
                   f"it takes {hashed:.2f} × the time; reading back takes {read_back:.2f} × one more read.\n")
        out.append("| tool | MiB/s (median) | of all rounds | CPU s/GiB | page cache growth |\n|---|---:|---|---:|---:|")
        for name, runs in rows.items():
            speeds = sorted(size / seconds / 2**20 for seconds, _ in runs)
            cpu = statistics.median(cpu for _, cpu in runs) / (size / GIB)
            grown = statistics.median(growth[name]) / 2**20
            out.append(f"| {name} | {statistics.median(speeds):,.0f} | {speeds[0]:,.0f} to {speeds[-1]:,.0f} "
                       f"| {cpu:.2f} | {grown:,.0f} MiB |")
    return "\n".join(out)


def small_table(directory, count, rounds):
    source = directory / "small.iostall-scratch"
    source.mkdir()
    for number in range(count):
        part = source / f"{number // 1000:03}"
        part.mkdir(exist_ok=True)
        (part / str(number)).write_bytes(os.urandom(4096))
    subprocess.run(["sync"], check=True)
    tools = {
        "iostall copy": [IOSTALL, "--quiet", "copy", "--no-store"],
        "cp -r": ["cp", "-r"],
        "cp -a": ["cp", "-a"],
        "rsync -a": ["rsync", "-a"],
    }
    rows = {}
    for number in range(rounds):
        for name, command in tools.items():
            if not shutil.which(command[0]):
                continue
            # A new name each time: removing trees costs the file system for a while, and not the tool.
            target = directory / f"small-{number}-{name.replace(' ', '')}.iostall-scratch"
            seconds, cpu = timed([*command, f"{source}/" if "rsync" in name else str(source), str(target)],
                                 str(directory))
            rows.setdefault(name, []).append((seconds, cpu))
            print(f"small files, round {number + 1}: {name} {seconds:.2f} s", file=sys.stderr)
    for path in directory.glob("small*.iostall-scratch"):
        shutil.rmtree(path)
    out = [f"| {count:,} files of 4 KiB | seconds (median) | of all rounds | CPU s |\n|---|---:|---|---:|"]
    for name, runs in rows.items():
        times = sorted(seconds for seconds, _ in runs)
        out.append(f"| {name} | {statistics.median(times):.2f} | {times[0]:.2f} to {times[-1]:.2f} "
                   f"| {statistics.median(cpu for _, cpu in runs):.1f} |")
    return "\n".join(out)


@contextlib.contextmanager
def memory_device(directory, gib):
    """ext4 on a loop device over memory; the memory is there before anything is measured."""
    image, mounted_at = Path("/dev/shm/image.iostall-scratch"), directory / "memory-device.iostall-scratch"
    mounted_at.mkdir()
    with open(image, "wb") as file:
        for _ in range(int((gib + 1.5) * 64)):
            file.write(bytes(16 << 20))
    made = subprocess.run(["losetup", "--find", "--show", "--direct-io=on", image], check=True, capture_output=True, text=True)
    device = made.stdout.strip()
    try:
        # Without discard: freed blocks would give their memory back.
        subprocess.run(["mkfs.ext4", "-q", "-F", "-E", "nodiscard,lazy_itable_init=0", device], check=True)
        subprocess.run(["mount", device, mounted_at], check=True)
        yield mounted_at
    finally:
        subprocess.run(["umount", mounted_at], check=False)
        subprocess.run(["losetup", "--detach", device], check=False)
        image.unlink()


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--gib", type=float, default=4)
    options.add_argument("--files", type=int, default=100_000)
    options.add_argument("--directory", type=Path, default=HERE)
    args = options.parse_args()
    with (tempfile.TemporaryDirectory(dir=args.directory) as first, tempfile.TemporaryDirectory(dir="/dev/shm") as memory):
        # First: removing large files and trees costs the file system for a while.
        small = small_table(Path(first), args.files, args.rounds)
        source = Path(first) / "source.iostall-scratch"
        with open(source, "wb") as file:
            for _ in range(int(args.gib * 64)):
                file.write(os.urandom(16 << 20))
            os.fsync(file.fileno())
        one = large_table(source, Path(first), args.rounds, one_device=True)
        with memory_device(Path(first), args.gib) as mounted_at:
            two = large_table(source, mounted_at, args.rounds, one_device=False)
        tmpfs = large_table(source, Path(memory), args.rounds, one_device=False, states=("warm",))
    report = [
        "# iostall copy beside other tools", "",
        f"`benchsuite/copy.py --rounds {args.rounds} --gib {args.gib:g} --files {args.files}`, {date.today()}: one incompressible "
        f"file of {args.gib:g} GiB, tools in turn, each with the sync after it. {platform.system()} {platform.release()}, "
        f"{os.cpu_count()} processors, {versions()}. Ratios within this run only.",
        "", "## On one device", one, "", "## To a second device (ext4 on a loop device over memory)", two,
        "", "## To tmpfs", tmpfs, "", "## Small files", "", small, "",
    ]
    results = HERE / "results" / "copy.md"
    results.parent.mkdir(exist_ok=True)
    results.write_text("\n".join(report))
    print(results)


def versions():
    """What ran, by its own word."""
    said = []
    for command in ([IOSTALL, "--version"], ["cp", "--version"], ["rclone", "version"], ["rsync", "--version"]):
        if shutil.which(command[0]):
            said.append(subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()[0].strip())
    return ", ".join(said)


if __name__ == "__main__":
    main()
