#!/usr/bin/env python3
"""iostall backup beside fio, tar with zstd, pg_basebackup, pgBackRest, restic and rustic, on a data directory of PostgreSQL.

    cargo build --release && benchsuite/backup.py [--gib 2] [--rounds 12] [--directory DIR] [--fio PROGRAM] [--only CASE]

A real server fills its data directory with rows that zstd level 1 compresses 2.0 to 2.5 : 1 (pgbench's own tables compress 42 : 1 and
measure nothing); the ratio is checked before anything is measured. Each row is one question: the peer and iostall run in turn as
intervals.py says, on the same files, each followed by a sync whose time counts; the page cache is dropped before each run, so that both
read from the device. Targets lie on the same file system. The peer's version and what protects its copy stand in the row. --only measures
the cases whose names begin so again and keeps the other rows of the file. Needs root (dropping caches, the server's user), zstd, and
for their rows pgbackrest, restic, rustic (the crate rustic-rs) and xxhsum. Writes results/backup.md.
"""

import argparse
import json
import os
import platform
import pwd
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

import intervals

HERE = Path(__file__).resolve().parent
IOSTALL = HERE.parent / "target" / "release" / "iostall"
RESULT = HERE / "results" / "backup.md"
POSTGRES = Path("/usr/lib/postgresql/15/bin")
MIB = 1 << 20
HEADER = "| case | peer | its protection | measured on | ratio | control | rounds | bound | verdict |\n|---|---|---|---|---|---|---|---|---|"
# A row is prose from a text of 60 KB, a key without order and numbers: between text and keys, as rows of applications are.
FILL = """
do $$
declare prose text;
begin
  select string_agg(translate(md5(n::text), '0123456789', ' aeioustrn'), ' ') into prose from generate_series(1, 2000) n;
  insert into rows
    select n, (random() * 1e6)::int, now() - random() * interval '1000 days',
           substr(prose, 1 + (random() * 60000)::int, 40 + (random() * 60)::int), md5(random()::text)
      from generate_series({first}, {last}) n;
end $$;
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Server:
    """A PostgreSQL in a private directory, on a free port of the loopback interface."""

    def __init__(self, directory):
        self.data, self.port = directory / "data", free_port()
        self.user = pwd.getpwnam("postgres")
        os.chown(directory, self.user.pw_uid, self.user.pw_gid)

    def run(self, *command, **options):
        # The server inherits what pg_ctl prints to: a pipe would stay open as long as it runs.
        return subprocess.run([str(word) for word in command], check=True, user=self.user.pw_uid, group=self.user.pw_gid, cwd="/",
                              text=True, **{"stdout": subprocess.DEVNULL, **options})

    def __enter__(self):
        self.run(POSTGRES / "initdb", "-D", self.data, "-A", "trust", "-k", "--no-sync", "-E", "SQL_ASCII", "--locale=C")
        self.run(POSTGRES / "pg_ctl", "-D", self.data, "-w", "-l", self.data.parent / "log", "-o",
                 f"-p {self.port} -k {self.data.parent} -c fsync=off -c max_wal_size=256MB -c shared_buffers=256MB -c autovacuum=off", "start")
        return self

    def sql(self, text):
        return self.run(POSTGRES / "psql", "-h", self.data.parent, "-p", self.port, "-Atq", "-v", "ON_ERROR_STOP=1", "-d", "postgres",
                        input=text, stdout=subprocess.PIPE).stdout.strip()

    def __exit__(self, *_):
        self.run(POSTGRES / "pg_ctl", "-D", self.data, "-w", "-m", "fast", "stop")

    def fill(self, gib):
        """Rows until the data directory has `gib` GiB; then a checkpoint, so that all of it lies in the files."""
        first, step = 1, 500_000
        self.sql("create table rows (id bigint, customer int, at timestamptz, note text, reference text)")
        while directory_bytes(self.data) < gib * 2**30:
            self.sql(FILL.format(first=first, last=first + step - 1) + "checkpoint;")
            first += step
        self.sql("vacuum analyze; checkpoint;")


def directory_bytes(directory):
    total = 0
    for entry in directory.rglob("*"):
        try:
            total += entry.stat().st_size if entry.is_file() else 0
        except FileNotFoundError:
            # The server takes files away while they are counted.
            pass
    return total


def drop_caches():
    subprocess.run(["sync"], check=True)
    Path("/proc/sys/vm/drop_caches").write_text("3")


def rate(command, source_bytes, sync_at, clean):
    """MiB of the source a second, the sync of what was written included."""
    for path in clean:
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    drop_caches()
    begun = time.monotonic()
    words = command if isinstance(command, str) else [str(word) for word in command]
    done = subprocess.run(words, shell=isinstance(command, str), capture_output=True, text=True, executable="/bin/bash" if isinstance(command, str) else None)
    if done.returncode != 0:
        raise SystemExit(f"{command}\n{done.stdout}{done.stderr}")
    subprocess.run(["sync", "-f", sync_at], check=True)
    return source_bytes / MIB / (time.monotonic() - begun)


def cpu_seconds(command):
    """User and kernel time of a command, and of the kernel's workers nothing: direct I/O has next to none."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def version_of(command):
    if not shutil.which(str(command[0])):
        return None
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    return (done.stdout or done.stderr).strip().splitlines()[0].strip("* ").split(", by")[0]


def compression_ratio(path):
    done = subprocess.run(f"zstd -q -1 -B1048576 -c {path} | wc -c", shell=True, check=True, capture_output=True, text=True)
    return path.stat().st_size / int(done.stdout)


class Bench:
    """One frozen data directory, and what each tool does with it."""

    def __init__(self, data, work, options):
        self.data, self.work, self.fio, self.rounds, self.only = data, work, options.fio, options.rounds, options.only
        self.bytes = directory_bytes(data)
        self.rows = []
        self.sample = work / "sample"
        self.stripes = [work / f"stripe{number}.iob" for number in range(2)]

    def take_sample(self):
        """The first 256 MiB of rows, for what is measured from memory."""
        largest = max((path for path in self.data.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
        with open(largest, "rb") as source, open(self.sample, "wb") as sample:
            sample.write(source.read(256 * MIB))

    def iostall(self, *words):
        return [IOSTALL, "backup", *words, "--quiet", "--no-store"]

    def create(self, source, *options, stripes=2, source_bytes=None):
        files = self.stripes[:stripes]
        targets = [word for path in files for word in ("--to", path)] or ["--to", "null:"]
        stale = [*files, *(Path(f"{path}.manifest") for path in files)]
        return lambda: rate(self.iostall("create", *targets, *options, source), source_bytes or self.bytes, self.work, stale)

    def row(self, question, peer_name, protection, peer, ours, bound):
        if not question.startswith(self.only):
            return
        say = lambda text: print(f"{question}: {text}", file=sys.stderr, flush=True)
        ratio, control, rounds = intervals.measure(peer(), ours(), self.rounds, say)
        said = intervals.verdict(ratio, control, bound)
        self.rows.append(f"| {question} | {peer_name} | {protection} | {date.today()} | {ratio[0]:.2f} ({ratio[1]:.2f} to {ratio[2]:.2f}) "
                         f"| {control[0]:.2f} ({control[1]:.2f} to {control[2]:.2f}) | {rounds} | {bound} | {said} |")

    def fio_read(self, *options):
        files = sorted(path for path in self.data.rglob("*") if path.is_file() and path.stat().st_size >= MIB)
        names = ":".join(str(path).replace(":", "\\:") for path in files)
        return [self.fio, "--name=read", "--rw=read", "--bs=4M", "--direct=1", "--ioengine=io_uring", "--iodepth=8", "--fixedbufs",
                "--file_service_type=sequential", f"--filename={names}", "--readonly", "--allow_file_create=0", "--output-format=json", *options]

    def fio_rate(self, *options):
        """MiB a second as fio counts them, without its start and end: it takes half a second for them."""
        drop_caches()
        done = subprocess.run([str(word) for word in self.fio_read(*options)], check=True, capture_output=True, text=True)
        return json.loads(done.stdout)["jobs"][0]["read"]["bw_bytes"] / MIB

    def read_beside_fio(self):
        version = version_of([self.fio, "--version"])
        ours = lambda: self.create(self.data, "--compress", "none", stripes=0)
        self.row("read to null, without compression", f"{version}, io_uring, 8 x 4 MiB, registered buffers", "none",
                 lambda: self.fio_rate, ours, 0.9)
        reserved = Path("/proc/sys/vm/nr_hugepages")
        before = reserved.read_text()
        reserved.write_text("32")
        self.row("read to null, beside huge pages that were reserved", f"{version}, the same and --mem=shmhuge", "none",
                 lambda: lambda: self.fio_rate("--mem=shmhuge"), ours, 0.9)
        reserved.write_text(before)

    def beside_the_limit(self):
        """What reading and the CPUs allow: cores / (1/compress + 1/hash + CPU of I/O), all in seconds a MiB, or the rate of reading."""
        writing = [self.fio, "--name=write", "--rw=write", "--bs=4M", "--direct=1", "--ioengine=io_uring", "--iodepth=8",
                   "--size=256M", f"--filename={self.work / 'fio'}"]

        def limit():
            cores = os.cpu_count()
            benches = [subprocess.Popen(["zstd", "-b1", "-B1048576", "-i1", self.sample], stdout=subprocess.PIPE, text=True) for _ in range(cores)]
            speeds = [float(re.findall(r"\(x\s*[\d.]+\),\s*([\d.]+) MB/s", bench.communicate()[0])[-1]) for bench in benches]
            compress = 1 / (sum(speeds) / cores * 1e6 / MIB)
            ratio = compression_ratio(self.sample)
            said = subprocess.run(["xxhsum", "-b3", "-B1048576", "-i1"], capture_output=True, text=True)
            # It counts blocks of 1 MiB and calls them MB.
            hashed = float(re.findall(r"([\d.]+) MB/s", said.stdout + said.stderr)[-1])
            hashing = (1 + 1 / ratio) / hashed
            moving = cpu_seconds(self.fio_read()) / (self.bytes / MIB) + cpu_seconds(writing) / 256 / ratio
            return min(self.fio_rate(), cores / (compress + hashing + moving))

        self.row("zstd 1 in two stripes, beside what reading and the CPUs allow",
                 f"fio, {version_of(['zstd', '--version'])} from memory, xxhsum XXH3", "none",
                 lambda: limit, lambda: self.create(self.data, "--compress", "zstd:1"), 0.9)
        (self.work / "fio").unlink(missing_ok=True)

    def write_beside_tar(self):
        packed = self.work / "tar.zst"
        command = f"set -o pipefail; tar -C {self.data} -cf - . | zstd -q -1 -T2 -o {packed}"
        self.row("backup, zstd 1, two stripes", f"tar \\| {version_of(['zstd', '--version'])} -T2", "XXH64 of the stream",
                 lambda: lambda: rate(command, self.bytes, self.work, [packed]),
                 lambda: self.create(self.data, "--compress", "zstd:1"), 0.95)
        packed.unlink(missing_ok=True)

    def restore_beside_tar(self):
        packed, place, mine = self.work / "tar.zst", self.work / "restored", self.work / "restored-iostall"

        def peer():
            subprocess.run(f"tar -C {self.data} -cf - . | zstd -q -1 -T2 -f -o {packed}", shell=True, check=True)
            return lambda: rate(f"set -o pipefail; mkdir {place} && zstd -q -dc {packed} | tar -C {place} -xf -", self.bytes, self.work, [place])

        def ours():
            self.create(self.data, "--compress", "zstd:1")()
            return lambda: rate(self.iostall("restore", self.stripes[0], "--to", mine), self.bytes, self.work, [mine])

        self.row("restore of the same", "zstd -d \\| tar", "XXH64 of the stream", peer, ours, 1.0)
        for path in [place, mine]:
            shutil.rmtree(path, ignore_errors=True)
        packed.unlink(missing_ok=True)

    def restore_one_file(self):
        """One file of 1 GiB in one stripe: nothing to share out but the frames of one file."""
        one, packed, out, mine = self.work / "one", self.work / "one.zst", self.work / "one.out", self.work / "one-iostall"

        def peer():
            with open(one, "wb") as target:
                for _ in range(4):
                    target.write(self.sample.read_bytes())
            subprocess.run(["zstd", "-q", "-1", "-T2", "-f", one, "-o", packed], check=True)
            return lambda: rate(["zstd", "-q", "-d", packed, "-o", out], one.stat().st_size, self.work, [out])

        def ours():
            self.create(one, "--compress", "zstd:1", stripes=1, source_bytes=one.stat().st_size)()
            return lambda: rate(self.iostall("restore", self.stripes[0], "--to", mine), one.stat().st_size, self.work, [mine])

        self.row("restore of one file of 1 GiB from one stripe", version_of(["zstd", "--version"]) + " -d", "XXH64 of the stream", peer, ours, 1.0)
        shutil.rmtree(mine, ignore_errors=True)
        for path in [one, packed, out]:
            path.unlink(missing_ok=True)

    def restored_beside(self, name, peer_name, protection, stored, command, place):
        """The same copy read back, by `command` into `place`; `stored` makes the copy."""
        mine = self.work / "restored-iostall"

        def peer():
            stored()
            return lambda: rate(command, self.bytes, self.work, [place])

        def ours():
            self.create(self.data, "--compress", "zstd:1")()
            return lambda: rate(self.iostall("restore", self.stripes[0], "--to", mine), self.bytes, self.work, [mine])

        self.row(f"restore, beside {name}", peer_name, protection, peer, ours, 1.0)
        for path in [place, mine]:
            shutil.rmtree(path, ignore_errors=True)

    def beside_chunks(self, tool, version, init, restore):
        """A tool that keeps chunks of content in a repository, encrypted."""
        if version is None:
            return
        repository, place = self.work / tool, self.work / f"restored-{tool}"
        name = tool.upper()
        environment = (f"{name}_PASSWORD=bench {name}_REPOSITORY={repository} {name}_CACHE_DIR={self.work / f'{tool}-cache'} "
                       f"HOME={self.work} GOMAXPROCS=2")
        protection = "SHA-256 and AES-256 of each chunk"

        def stored():
            shutil.rmtree(repository, ignore_errors=True)
            subprocess.run(f"{environment} {tool} {init}", shell=True, check=True, capture_output=True)
            return rate(f"{environment} {tool} backup {self.data}", self.bytes, self.work, [])

        self.row(f"backup, zstd, beside the chunks of {tool}", version, protection,
                 lambda: stored, lambda: self.create(self.data, "--compress", "zstd:1"), 1.0)
        self.restored_beside(f"the chunks of {tool}", version, protection, stored, f"{environment} {tool} {restore} {place}", place)
        shutil.rmtree(repository, ignore_errors=True)

    def beside_restic(self):
        """Restic chooses the level of zstd by itself."""
        version = version_of(["restic", "version"])
        self.beside_chunks("restic", version and version.split(" compiled")[0], "init -q", "restore -q latest --target")

    def beside_rustic(self):
        self.beside_chunks("rustic", version_of(["rustic", "--version"]), "init --set-compression 1", f"restore latest:{self.data}")

    def beside_pgbackrest(self):
        version = version_of(["pgbackrest", "version"])
        if version is None:
            return
        repository, logs = self.work / "pgbackrest", self.work / "pgbackrest-log"
        common = (f"--stanza=bench --pg1-path={self.data} --repo1-path={repository} --log-path={logs} --lock-path={self.work / 'lock'} "
                  "--log-level-console=error --log-level-file=off")

        def peer():
            shutil.rmtree(repository, ignore_errors=True)
            for path in [repository, logs]:
                path.mkdir(exist_ok=True)
            subprocess.run(f"pgbackrest {common} --no-online stanza-create", shell=True, check=True, capture_output=True)
            return rate(f"pgbackrest {common} --no-online --type=full --compress-type=zst --compress-level=1 --process-max=2 backup",
                        self.bytes, self.work, [])

        protection = "SHA-1 of each file, page checksums"
        self.row("backup, zstd 1, beside a repository of PostgreSQL", version + ", 2 processes", protection,
                 lambda: peer, lambda: self.create(self.data, "--compress", "zstd:1"), 1.0)
        place = self.work / "restored-pgbackrest"
        self.restored_beside("a repository of PostgreSQL", version + ", 2 processes", protection, peer,
                             f"mkdir {place} && chmod 700 {place} && pgbackrest {common.replace(str(self.data), str(place))} --process-max=2 restore", place)
        shutil.rmtree(repository, ignore_errors=True)

    def live(self, server):
        """The server's own tool, on the server while it runs."""
        place = self.work / "pg_basebackup"
        address = f"postgres://postgres@127.0.0.1:{server.port}/postgres"
        command = [POSTGRES / "pg_basebackup", "-d", address, "-D", place, "-Ft", "-X", "stream", "-Z", "client-zstd:level=1,workers=2", "-c", "fast"]
        self.row("backup of the running server, zstd 1", version_of([POSTGRES / "pg_basebackup", "--version"]) + ", 2 workers", "CRC32C of each file, synced",
                 lambda: lambda: rate(command, self.bytes, self.work, [place]),
                 lambda: self.create(address, "--compress", "zstd:1"), 1.0)
        shutil.rmtree(place, ignore_errors=True)

    def all(self, server):
        self.live(server)
        server.__exit__()
        self.read_beside_fio()
        self.beside_the_limit()
        self.write_beside_tar()
        self.restore_beside_tar()
        self.restore_one_file()
        self.beside_pgbackrest()
        self.beside_restic()
        self.beside_rustic()


def kept_rows(measured_again):
    """Rows of the last result that are not measured again; none if all are."""
    if not measured_again or not RESULT.exists():
        return []
    lines = RESULT.read_text().splitlines()
    return [line for line in lines[lines.index(HEADER.splitlines()[1]) + 1:] if not line.startswith(f"| {measured_again}")]


def main():
    # A benchmark that is ended stops its server like one that ends by itself.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gib", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--directory", type=Path, default=Path("/var/tmp"))
    parser.add_argument("--fio", default="fio")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    kept = kept_rows(options.only)
    scratch = Path(tempfile.mkdtemp(prefix="iostall-bench-", dir=options.directory))
    server = Server(scratch)
    try:
        server.__enter__()
        server.fill(options.gib)
        (scratch / "work").mkdir()
        bench = Bench(server.data, scratch / "work", options)
        bench.take_sample()
        ratio = compression_ratio(bench.sample)
        if not 2.0 <= ratio <= 2.5:
            raise SystemExit(f"zstd 1 compresses this data {ratio:.2f} : 1, and it must be 2.0 to 2.5: change FILL")
        bench.all(server)
    finally:
        subprocess.run([POSTGRES / "pg_ctl", "-D", server.data, "-m", "immediate", "stop"], user=server.user.pw_uid, cwd="/", capture_output=True)
        shutil.rmtree(scratch)
    RESULT.write_text(
        "# iostall backup beside other tools\n\n"
        f"`benchsuite/backup.py --gib {options.gib:g} --rounds {options.rounds}` on Linux {platform.release()}, {os.cpu_count()} processors. A data directory of "
        f"PostgreSQL with {bench.bytes / 2**30:.1f} GiB, which zstd 1 compresses {ratio:.2f} : 1. Ratio of ours to the peer in bytes of the source a second, 95 % interval; the "
        "control is the peer beside itself in the same rounds. Ours: two checksums a frame, synced, renamed when whole.\n\n"
        + HEADER + "\n" + "\n".join(kept + bench.rows) + "\n")


if __name__ == "__main__":
    main()
