#!/usr/bin/env python3
"""The centre of a fleet: 5,000 simulated servers in one process, over loopback into a real PostgreSQL.

    cargo build --release && cargo test --test tests --no-run && benchsuite/fleet.py [--servers 5000] [--minutes 10]

Runs the test `many_servers_send_at_once_and_come_back_after_all_were_cut` (tests/fleet_many.rs) at its full length with the released program as the
service. Each server has a key and a store of its own, 40 files, and a sample a minute; what sends is the code of `iostall fleet send --follow`. In
the middle the service is killed and away for 70 s, so that all servers notice. At the end the repository is compared with what was sent. PostgreSQL
15 writes to the disk of the temporary directory, with fsync. Writes results/fleet.md.
"""

import argparse
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TEST = "fleet_many::many_servers_send_at_once_and_come_back_after_all_were_cut"
AWAY_S = 70


def test_program():
    """The newest program of the tests."""
    found = [path for path in (HERE.parent / "target" / "debug" / "deps").glob("tests-*") if re.fullmatch(r"tests-[0-9a-f]{16}", path.name)]
    if not found:
        sys.exit("build the tests first: cargo test --test tests --no-run")
    return max(found, key=lambda path: path.stat().st_mtime)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, default=5000)
    parser.add_argument("--minutes", type=int, default=10)
    parser.add_argument("--iostall", type=Path, default=HERE.parent / "target" / "release" / "iostall")
    options = parser.parse_args()
    before_s = (options.minutes * 60 - AWAY_S) * 3 // 5
    extent = {"SERVERS": options.servers, "INTERVAL": 60, "BEFORE": before_s, "AWAY": AWAY_S, "AFTER": options.minutes * 60 - AWAY_S - before_s}
    with tempfile.TemporaryDirectory() as place:
        figures = Path(place) / "figures"
        environment = {f"IOSTALL_TEST_FLEET_{name}": str(number) for name, number in extent.items()}
        environment |= {"IOSTALL_TEST_LONG": "1", "IOSTALL_TEST_BINARY": str(options.iostall.resolve()), "IOSTALL_TEST_FIGURES": str(figures)}
        # Started in the background of a script it would be deaf to Ctrl-C, and the service with it, which the test ends so.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        busy = os.getloadavg()[0]
        done = subprocess.run([test_program(), "--exact", TEST, "--nocapture"], env=os.environ | environment, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            sys.exit(f"the test failed; its figures:\n{figures.read_text() if figures.exists() else 'none'}")
        text = figures.read_text()
    version = subprocess.run(["/usr/lib/postgresql/15/bin/postgres", "--version"], capture_output=True, text=True).stdout.strip()
    result = f"""# The centre of a fleet: {options.servers:,} servers

`benchsuite/fleet.py --servers {options.servers} --minutes {options.minutes}` on {time.strftime('%Y-%m-%d')}, Linux {platform.release()}, \
{os.cpu_count()} processors, which the simulated servers, the service and {version} share. The service is the released program; what simulates is a \
build for tests, which takes several times the processor time of the released one. Load average of the machine at the beginning {busy:.1f}.

{text}
The repository was then equal to what was sent: every sample of every server, each of its rows once and with its numbers, and what was read by the
roll-ups of hours and days.
"""
    (HERE / "results" / "fleet.md").write_text(result)
    print(result)


if __name__ == "__main__":
    main()
