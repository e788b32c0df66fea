#!/usr/bin/env python3
"""Parses the BACKUP and RESTORE statements that iostall writes, each with Microsoft's grammar of the version it is for.

    backup.py TOOLS FILE

FILE has a statement a line: the oldest version that knows all of its options, `parsed` or `newer`, and the statement with its
line ends as a sign. A Rust test writes it and keeps it as it is. The newest grammar here is that of 2019, in a release of the
parser that does not know TO URL: statements with that, or with an option of 2022 or 2025, are `newer`, and must not parse, or
the list is out of date.
"""

import pathlib
import sys

import parse

# At least so many must parse.
LEAST = 300


def main():
    tools, path = pathlib.Path(sys.argv[1]), sys.argv[2]
    dom, _ = parse.load(tools)
    grammars = {
        "2008 R2": dom.TSql100Parser,
        "2012": dom.TSql110Parser,
        "2014": dom.TSql120Parser,
        "2016": dom.TSql130Parser,
        "2017": dom.TSql140Parser,
    }
    faults, counts = [], {"parsed": 0, "newer": 0}
    for number, line in enumerate(pathlib.Path(path).read_text(encoding="utf-8").splitlines(), 1):
        version, state, text = line.split("\t")
        _, errors = parse.parse(grammars.get(version, dom.TSql150Parser), text.replace("␤", "\n"))
        counts[state] += 1
        if state == "parsed":
            faults += [f"{path}:{number}: {message} [grammar of {version}]" for _, message in errors]
        elif not errors:
            faults.append(f"{path}:{number}: the grammar knows it, and it is listed as newer")
    if counts["parsed"] < LEAST:
        faults.append(f"{path}: {counts['parsed']} statements, {LEAST} wanted")
    print("\n".join(faults), end="\n" if faults else "")
    print(f"{counts['parsed']} BACKUP and RESTORE statements parsed, {counts['newer']} newer, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
