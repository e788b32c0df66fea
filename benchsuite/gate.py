#!/usr/bin/env python3
"""Writes down what the last ./check took: its sections, and its slowest fifty tests.

Reads what ./check leaves under the target directory, and writes benchsuite/results/gate.md.
"""

import os
import platform
import subprocess
import sys
from pathlib import Path

# What stands beside this script has the names of modules of Python: copy.py.
sys.path.remove(str(Path(__file__).resolve().parent))
import xml.etree.ElementTree as xml

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
RESULT = ROOT / "benchsuite" / "results" / "gate.md"
SLOWEST = 50


def sections():
    """(seconds at its begin, seconds it took, load when it began, name, whether it ran beside the tests)."""
    rows = [line.split("\t") for line in (TARGET / "sections").read_text().splitlines()]
    lanes = {}
    for begin, load, lane, name in rows:
        lanes.setdefault(lane, []).append((int(begin), load, name))
    # What runs beside is a process of its own, which begins later.
    first = rows[0][2]
    for lane, steps in lanes.items():
        ends = [begin for begin, _, _ in steps[1:]]
        # When the last thing beside ended is not known.
        ends.append(steps[-1][0] if lane == first else None)
        for (begin, load, name), end in zip(steps, ends):
            if name != "all good":
                yield begin, None if end is None else end - begin, load, name, lane != first


def tests():
    """(seconds, name, tries) of every test."""
    report = xml.parse(TARGET / "nextest" / "gate" / "junit.xml").getroot()
    for suite in report.iter("testsuite"):
        for case in suite.iter("testcase"):
            tries = 1 + len(case.findall("flakyFailure")) + len(case.findall("flakyError"))
            yield float(case.get("time")), f"{suite.get('name')} {case.get('name')}", tries


def main():
    commit = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    rows = list(sections())
    total = max(begin + (took or 0) for begin, took, _, _, _ in rows)
    found = sorted(tests(), reverse=True)
    again = [name for _, name, tries in found if tries > 1]
    lines = [
        "# What the gate takes",
        "",
        f"`./check` on {commit}, {os.cpu_count()} processors, Linux {platform.release()}: {total} s. Written by `benchsuite/gate.py`.",
        "",
        "| Section | Begins at s | Takes s | Load of the machine when it begins |",
        "|---|---|---|---|",
    ]
    for begin, took, load, name, beside in rows:
        lines.append(f"| {name}{', beside the tests' if beside else ''} | {begin} | {'' if took is None else took} | {load} |")
    lines += [
        "",
        f"{len(found)} tests took {sum(seconds for seconds, _, _ in found):.0f} s, added up. Needed a second try: {', '.join(f'`{name}`' for name in again) or 'none'}.",
        "",
        f"## The slowest {SLOWEST}",
        "",
        f"They took {sum(seconds for seconds, _, _ in found[:SLOWEST]):.0f} s.",
        "",
        "| Seconds | Test |",
        "|---|---|",
    ]
    lines += [f"| {seconds:.1f} | `{name}` |" for seconds, name, _ in found[:SLOWEST]]
    RESULT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
