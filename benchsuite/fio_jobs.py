#!/usr/bin/env python3
"""Whether each example job of fio's is translated or refused by name, and whether those that run ask for as much as fio does.

    git clone https://github.com/axboe/fio && cargo build && benchsuite/fio_jobs.py fio/examples [--iostall PROGRAM] [--fio PROGRAM]

Prints benchsuite/results/fio-jobs.md. The jobs are not kept here. What is translated is run by both programs in an empty directory,
with files of 8 MiB of its own, until it ends with its size: so the numbers of requests can be compared.
"""

import argparse
import json
import re
import subprocess
import tempfile
from pathlib import Path


def run(words, directory):
    """What does not end within a minute has the status of a program that was killed."""
    try:
        return subprocess.run(words, cwd=directory, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 137, "", "")


def small(text):
    """The job with files of 8 MiB in the working directory, which ends with its size."""
    text = re.sub(r"^\s*(runtime|timeout|time_based|ramp_time|loops|size|filesize)\b.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"^\s*(filename|directory)\s*=.*$", "filename=t.dat", text, flags=re.MULTILINE)
    return "[global]\nsize=8m\n" + text


def of_fio(program, directory):
    done = run([program, "--output-format=json", "--output=o.json", "small.fio"], directory)
    if done.returncode != 0:
        return None
    text = (directory / "o.json").read_text()
    jobs = json.loads(text[text.index("{"):])["jobs"]
    of = lambda kind: (sum(j[kind]["total_ios"] for j in jobs), sum(j[kind]["io_bytes"] for j in jobs))
    return of("read"), of("write")


def of_iostall(program, directory):
    done = run([program, "load", "--no-store", "--json", "o.json", "--fio", "small.fio"], directory)
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
            refused.append((job.name, re.findall(r"fio's (\w+)(?:=| has)|: (\w+): |variable (\w+)|(\w+) is no option", done.stderr)))
        else:
            translated.append(job.name)
            with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
                for place in (one, other):
                    Path(place, "small.fio").write_text(small(job.read_text()))
                compared.append((job.name, of_fio(given.fio, Path(one)), of_iostall(iostall, Path(other))))
    print("# fio's example jobs\n")
    print("What `benchsuite/fio_jobs.py` printed for the examples of https://github.com/axboe/fio.\n")
    print(f"{len(jobs)} jobs: {len(translated)} translated, {len(refused)} refused by name, {len(crashed)} crashed {crashed or ''}\n")
    print("| job, made small | fio: reads, writes (requests, bytes) | iostall | the same |\n|---|---|---|---|")
    for name, theirs, ours in compared:
        print(f"| {name} | {theirs} | {ours} | {'yes' if theirs == ours else 'no'} |")
    print("\n| refused | because of |\n|---|---|")
    for name, options in refused:
        print(f"| {name} | {', '.join(dict.fromkeys(''.join(found) for found in options)) or 'see the message'} |")
    print(f"\nTranslated: {', '.join(translated)}.")


main()
