#!/usr/bin/env python3
"""A copy that gives way beside open-loop pgbench: what users wait, and what is copied meanwhile.

    cargo build --release && benchsuite/governed.py [--seconds 180] [--mib 6144] [--search-seconds 45] [--search-from 2]
        [--rate 150] [--mbps 40] [--limit-ms 0] [--rounds 1] [--iostall FILE]

A PostgreSQL of its own (Debian's) on ext4 on a loop device whose reads and writes a control group limits in number and bytes, for the
server, its users and the copies alike. pgbench commits at a fixed rate, whether the server keeps up or not (`--rate`), so a wait is counted from
when a transaction was due. Beside it run, the last two for `--seconds` and the others for `--search-seconds`, in an order that changes with each round:

    nothing; cp; ionice -c3 cp; iostall copy; iostall copy --limit, at the best constant limit; iostall copy --yield-to

The best constant limit is searched: the highest of a ladder with which users waited no longer than 1.1 times the limit (95th percentile of
each second) in 95 of 100 seconds. The limit is 5 ms, or 2.5 times what users wait with nothing beside them if that is more, or `--limit-ms`.
Each copy has to find out anew what the disk can bear, so the file must be large enough for one copy to last (`--mib`).

With control groups of version 1 the kernel writes back cp's pages outside the group, which makes cp look faster, and gentler, than on a slow disk.
What must hold: with --yield-to, 95 of 100 seconds within 1.1 times the limit, and at least 0.8 of what the best constant limit copied. Needs
root, a loop device and control groups for I/O. Everything it starts ends with it. Writes results/governed.md.
"""

import argparse
import contextlib
import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
POSTGRES = Path("/usr/lib/postgresql/15/bin")
NOBODY = 65534
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
MIB = 1 << 20
LIMIT_MS = 5.0
LADDER = [2, 4, 6, 8, 10, 12, 15, 18, 22, 26, 30, 35, 40, 45]
ORDER = "\\set n random(1, 100000)\nUPDATE orders SET note = note || 'x' WHERE id = :n;\n"


def until(what, attempt):
    for _ in range(600):
        if attempt():
            return
        time.sleep(0.1)
    sys.exit(f"{what} did not come")


class Group:
    """A control group that limits a device for all who run in it; of version 1 or 2."""

    def __init__(self, number, per_second, bytes_per_second):
        first = Path("/sys/fs/cgroup/blkio")
        name = f"iostall-bench-{os.getpid()}"
        if first.exists():
            self.path = first / name
            limits = [(f"blkio.throttle.{op}_{what}_device", f"{number} {value}") for op in ("read", "write")
                      for what, value in (("iops", per_second), ("bps", bytes_per_second))]
        else:
            self.path = Path("/sys/fs/cgroup") / name
            limits = [("io.max", f"{number} riops={per_second} wiops={per_second} rbps={bytes_per_second} wbps={bytes_per_second}")]
        self.path.mkdir()
        for file, value in limits:
            (self.path / file).write_text(value)

    def close(self):
        until("an empty control group", self.remove)

    def remove(self):
        with contextlib.suppress(OSError):
            self.path.rmdir()
        return not self.path.exists()


class Disk:
    """ext4 on a loop device over memory."""

    def __init__(self, place, gib):
        self.image, self.mount = place / "image", place / "disk"
        with open(self.image, "wb") as image:
            os.posix_fallocate(image.fileno(), 0, gib << 30)
        self.mount.mkdir()
        made = subprocess.run(["losetup", "--find", "--show", "--direct-io=off", self.image], check=True,
                              capture_output=True, text=True)
        self.device = made.stdout.strip()
        subprocess.run(["mkfs.ext4", "-q", "-E", "nodiscard", self.device], check=True, **QUIET)
        subprocess.run(["mount", self.device, self.mount], check=True)
        self.number = Path(f"/sys/block/{Path(self.device).name}/dev").read_text().strip()

    def close(self):
        until("an idle disk", lambda: subprocess.run(["umount", self.mount], check=False, **QUIET).returncode == 0)
        subprocess.run(["losetup", "-d", self.device], check=False, **QUIET)


class Server:
    """A PostgreSQL on the disk, in the control group."""

    def __init__(self, disk, group):
        self.group, self.data = group, disk.mount / "server"
        self.data.mkdir()
        os.chown(self.data, NOBODY, NOBODY)
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port = listener.getsockname()[1]
        self.run("initdb", "-A", "trust", "-U", "mon", "-D", self.data / "data")
        settings = ["listen_addresses=127.0.0.1", "shared_buffers=256MB", "track_wal_io_timing=on", "checkpoint_timeout=1h",
                    "max_wal_size=4GB", "autovacuum=off", "full_page_writes=off"]
        words = [word for setting in settings for word in ("-c", setting)]
        self.process = self.start("postgres", "-D", self.data / "data", "-k", self.data, "-p", str(self.port), *words)
        until("PostgreSQL", lambda: self.sql("SELECT 1") == 0)
        self.sql("CREATE TABLE orders AS SELECT n AS id, '' AS note FROM generate_series(1, 100000) AS s (n)")
        self.sql("ALTER TABLE orders ADD PRIMARY KEY (id)")
        self.sql("CHECKPOINT")
        self.url = f"postgres://mon@127.0.0.1:{self.port}/postgres?tls=off"

    def start(self, name, *words):
        within = 'echo $$ > "$0" && exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"'
        return subprocess.Popen(["sh", "-c", within, self.group.path / "cgroup.procs", POSTGRES / name, *words], cwd="/", **QUIET)

    def run(self, name, *words):
        if self.start(name, *words).wait() != 0:
            sys.exit(f"{name} failed")

    def sql(self, text):
        return self.start("psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", "mon", "-d", "postgres", "-c", text).wait()

    def users(self, place, rate, seconds):
        """pgbench at a fixed rate; its log has each transaction with its wait from when it was due."""
        script = place / "order.sql"
        script.write_text(ORDER)
        for log in place.glob("log.*"):
            log.unlink()
        os.chown(place, NOBODY, NOBODY)
        return self.start("pgbench", "-h", "127.0.0.1", "-p", str(self.port), "-U", "mon", "-n", "-c", "16", "-j", "2", "-R", str(rate),
                          "-T", str(seconds), "-f", script, "--log", "--log-prefix", place / "log", "postgres")

    def close(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()


def waits_by_second(place):
    """The 95th percentile of each second's waits, milliseconds, by when they ended."""
    seconds = {}
    for log in place.glob("log.*"):
        for line in log.read_text().splitlines():
            fields = line.split()
            if len(fields) >= 6 and fields[2].isdigit():
                # The third field counts from when the transaction was due.
                seconds.setdefault(int(fields[4]), []).append(int(fields[2]) / 1e3)
    inner = sorted(seconds)[1:-1]
    return [sorted(seconds[second])[int(len(seconds[second]) * 0.95)] for second in inner]


class Copies:
    """Copies of one large file, one after another until they are stopped, and how much they moved."""

    def __init__(self, group, disk, iostall):
        self.group, self.iostall = group, iostall
        self.source, self.target, self.report = disk.mount / "source", disk.mount / "target", disk.mount.parent / "run.json"

    def words(self, kind, server, limit_ms):
        base = [self.iostall, "--quiet", "copy", "--no-store", "--reflink", "never", "--no-resume", "--json", self.report]
        ends = [self.source, self.target]
        if kind.endswith("cp"):
            # Durable at its end, as iostall's is.
            return [*kind.split()[:-1], "sh", "-c", 'cp --reflink=never "$0" "$1" && sync "$1"', *ends]
        if kind == "iostall copy":
            return [*base, *ends]
        if kind.startswith("iostall copy --limit"):
            return [*base, "--limit", f"{kind.split()[-1]}MB/s", *ends]
        return [*base, "--yield-to", server.url, "--require", f"commit.p95<{limit_ms:.3f}ms", "--yield-floor", "1MB/s", *ends]

    def beside(self, seconds, words):
        """Bytes a second that `words` moved in so many seconds."""
        moved, begun = 0, time.monotonic()
        while time.monotonic() < begun + seconds:
            self.target.unlink(missing_ok=True)
            self.report.unlink(missing_ok=True)
            with open(self.source, "rb") as source:
                os.posix_fadvise(source.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            process = subprocess.Popen(["sh", "-c", 'echo $$ > "$0" && exec "$@"', self.group.path / "cgroup.procs", *words], **QUIET)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=max(0.1, begun + seconds - time.monotonic()))
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.wait()
            if self.report.exists():
                run = json.loads(self.report.read_text())["copy"]
                moved += sum(point["written_bytes"] for point in run["series"])
            elif self.target.exists():
                moved += self.target.stat().st_size
        self.target.unlink(missing_ok=True)
        return moved / seconds


class Bench:
    def __init__(self, options, place, disk, group):
        self.options, self.place = options, place / "users"
        self.place.mkdir()
        self.server = Server(disk, group)
        self.copies = Copies(group, disk, options.iostall)
        with open(self.copies.source, "wb") as source:
            for _ in range(options.mib // 16):
                source.write(random.randbytes(16 * MIB))
            os.fsync(source.fileno())
        self.limit_ms = options.limit_ms

    def trial(self, kind, seconds):
        """Waits by second and bytes a second, of one kind beside the users."""
        users = self.server.users(self.place, self.options.rate, seconds + 4)
        time.sleep(2)
        if kind == "nothing":
            moved = 0.0
            time.sleep(seconds)
        else:
            moved = self.copies.beside(seconds, self.copies.words(kind, self.server, self.limit_ms))
        users.wait()
        waits = waits_by_second(self.place)
        if not waits:
            sys.exit("pgbench logged nothing")
        print(f"{kind}: {moved / MIB:.1f} MiB/s, {self.kept(waits):.1%} of the seconds", file=sys.stderr)
        return waits, moved

    def kept(self, waits):
        if not self.limit_ms:
            return 1.0
        return sum(wait <= 1.1 * self.limit_ms for wait in waits) / len(waits)

    def best_limit(self):
        """The highest constant limit of the ladder that keeps what users wait."""
        steps = [limit for limit in LADDER if limit >= self.options.search_from]
        best = steps[0]
        for limit in steps:
            waits, _ = self.trial(f"iostall copy --limit {limit}", self.options.search_seconds)
            if self.kept(waits) < 0.95:
                break
            best = limit
        return best


def table(rows, limit_ms, kept):
    out = ["| beside the users | copied, MiB/s | seconds within 1.1 × the limit | p95 of a second, median | worst second |",
           "|---|---:|---:|---:|---:|"]
    for kind, (waits, moved) in rows.items():
        out.append(f"| {kind} | {moved / MIB:.1f} | {kept(waits):.1%} | {statistics.median(waits):.1f} ms | {max(waits):.1f} ms |")
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=180)
    parser.add_argument("--rate", type=int, default=150, help="transactions a second")
    parser.add_argument("--limit-ms", type=float, default=0.0)
    parser.add_argument("--search-seconds", type=int, default=45, help="for each step of the search for the best constant limit")
    parser.add_argument("--search-from", type=int, default=LADDER[0], choices=LADDER, metavar="MB", help="lowest constant limit that is tried, MB/s")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--mib", type=int, default=6144, help="size of the copied file")
    parser.add_argument("--iops", type=int, default=1000)
    parser.add_argument("--mbps", type=int, default=40)
    parser.add_argument("--iostall", default=str(HERE.parent / "target" / "release" / "iostall"))
    parser.add_argument("--directory", default="/dev/shm")
    options = parser.parse_args()
    # A script in the background inherits that an interrupt is ignored, and hands that on: its copies could not be stopped.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with contextlib.ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=options.directory)))
        place.chmod(0o755)
        disk = Disk(place, 3 + options.mib * 2 // 1024)
        stack.callback(disk.close)
        group = Group(disk.number, options.iops, options.mbps * 1_000_000)
        stack.callback(group.close)
        bench = Bench(options, place, disk, group)
        stack.callback(bench.server.close)
        if not options.limit_ms:
            alone, _ = bench.trial("nothing", options.search_seconds)
            bench.limit_ms = max(LIMIT_MS, round(2.5 * statistics.median(alone), 1))
        best = bench.best_limit()
        kinds = ["nothing", "cp", "ionice -c3 cp", "iostall copy", f"iostall copy --limit {best}", "iostall copy --yield-to"]
        rows = {kind: ([], 0.0) for kind in kinds}
        for number in range(options.rounds):
            order = kinds[:]
            random.Random(number).shuffle(order)
            for kind in order:
                waits, moved = bench.trial(kind, options.seconds if kind in kinds[-2:] else options.search_seconds)
                rows[kind] = (rows[kind][0] + waits, rows[kind][1] + moved / options.rounds)
        governed, constant = rows[kinds[-1]], rows[kinds[-2]]
        share, kept = governed[1] / max(constant[1], 1.0), bench.kept(governed[0])
        holds = kept >= 0.95 and share >= 0.8
        text = [
            "# A copy that gives way, beside open-loop pgbench", "",
            f"{date.today()}, {os.cpu_count()} CPUs. A loop device limited to {options.iops} reads and as many writes a second, {options.mbps} MB/s "
            f"each way; {options.rate} transactions a second; {options.rounds} × {options.seconds} s for the last two, "
            f"{options.search_seconds} s for the others. Limit: {bench.limit_ms} ms.", "",
            *table(rows, bench.limit_ms, bench.kept), "",
            f"With --yield-to {kept:.1%} of the seconds were within 1.1 × the limit, and it copied **{share:.2f}** of what the best constant limit "
            f"copied ({best} MB/s, found by a search that nobody does in the night): {'holds' if holds else '**does not hold**'}.", "",
        ]
        (HERE / "results" / "governed.md").write_text("\n".join(text))
        print("\n".join(text))


if __name__ == "__main__":
    main()
