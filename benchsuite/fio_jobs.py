#!/usr/bin/env python3
"""Whether each example job of fio's is translated or refused by name, and whether those that run ask for as much as fio does.

    git clone https://github.com/axboe/fio && cargo build && benchsuite/fio_jobs.py fio/examples [--iostall PROGRAM] [--fio PROGRAM]

Prints benchsuite/results/fio-jobs.md. The jobs are not kept here. One is run where its files are its own, 64 MiB at most, and it
ends with its size; both programs start in an empty directory.
"""

import argparse
import json
import re
import subprocess
import tempfile
from pathlib import Path

MIB = 1 << 20
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": MIB, "GiB": 1 << 30, "TiB": 1 << 40}


def run(words, directory):
    return subprocess.run(words, cwd=directory, capture_output=True, text=True, timeout=120)


def files(toml):
    """The files of a translated job, and their sizes; None where one has none."""
    found = re.findall(r"^#   (\S+) of ([\d.]+) (\w+)$", toml, re.MULTILINE)
    count = len(re.findall(r"^#   \S+ of ", toml, re.MULTILINE))
    return {path: float(number) * UNITS[unit] for path, number, unit in found} if len(found) == count else None


def of_fio(program, job, directory):
    done = run([program, "--output-format=json", "--output=o.json", job], directory)
    if done.returncode != 0:
        return None
    text = (directory / "o.json").read_text()
    jobs = json.loads(text[text.index("{"):])["jobs"]
    of = lambda kind: (sum(j[kind]["total_ios"] for j in jobs), sum(j[kind]["io_bytes"] for j in jobs))
    return of("read"), of("write")


def of_iostall(program, job, directory):
    done = run([program, "load", "--no-store", "--json", "o.json", "--fio", job], directory)
    if done.returncode not in (0, 1):
        return None
    spans = json.loads((directory / "o.json").read_text())["load"]["spans"]
    cells = [cell for span in spans for role in span["roles"] for cell in role["cells"]]
    kinds = lambda kind: [cell for cell in cells if cell["op"] == kind]
    of = lambda kind: (sum(c["service_ns"]["count"] for c in kinds(kind)), sum(c["bytes"] for c in kinds(kind)))
    return of("read"), of("write")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("examples", type=Path)
    parser.add_argument("--iostall", default="target/debug/iostall")
    parser.add_argument("--fio", default="fio")
    given = parser.parse_args()
    iostall = str(Path(given.iostall).resolve())
    jobs = sorted(given.examples.resolve().glob("*.fio"))
    translated, refused, crashed, compared = [], [], [], []
    for job in jobs:
        with tempfile.TemporaryDirectory() as here:
            done = run([iostall, "profile", "translate", "--fio", str(job)], here)
        if done.returncode not in (0, 2) or "panicked" in done.stderr:
            crashed.append(job.name)
        elif done.returncode == 2:
            refused.append((job.name, re.findall(r"fio's (\w+)|: (\w+): |variable (\w+)|(\w+) is no option", done.stderr)))
        else:
            translated.append(job.name)
            sizes = files(done.stdout)
            is_small = sizes and sum(sizes.values()) <= 64 * MIB and not any(path.startswith("/") for path in sizes)
            if is_small and "passes = " in done.stdout:
                with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
                    compared.append((job.name, of_fio(given.fio, str(job), Path(one)), of_iostall(iostall, str(job), Path(other))))
    print("# fio's example jobs\n")
    print("What `benchsuite/fio_jobs.py` printed for the examples of https://github.com/axboe/fio.\n")
    print(f"{len(jobs)} jobs: {len(translated)} translated, {len(refused)} refused by name, {len(crashed)} crashed {crashed or ''}\n")
    print("| job that ends with its size | fio: reads, writes (requests, bytes) | iostall | the same |\n|---|---|---|---|")
    for name, theirs, ours in compared:
        print(f"| {name} | {theirs} | {ours} | {'yes' if theirs == ours else 'no'} |")
    print("\n| refused | because of |\n|---|---|")
    for name, options in refused:
        print(f"| {name} | {', '.join(dict.fromkeys(''.join(found) for found in options)) or 'see the message'} |")
    print(f"\nTranslated: {', '.join(translated)}.")


main()
