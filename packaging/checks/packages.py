"""The packages under test, and how they are made for it."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from steps.program import TARGETS, build
from steps.project import PACKAGING, Problem, project
from steps.tools import Tools


@dataclass(frozen=True)
class Packages:
    out: Path
    # For clean roots and unpacked packages.
    directory: Path

    def one(self, pattern):
        found = sorted(self.out.glob(pattern))
        assert len(found) == 1, f"{self.out} has {len(found)} files {pattern}, not one"
        return found[0]

    def all(self, pattern):
        return sorted(self.out.glob(pattern))

    def fresh(self, name):
        """An empty directory."""
        path = self.directory / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path

    @property
    def version(self):
        return project().version


def cross_built():
    tools = Tools()
    return [build(machine, tools) for machine in TARGETS]


def build_twice(binaries, directory):
    """The second time into another directory, because a path that gets into a package shows so; one of an odd name, by a detour:
    nfpm took the detour, and takes brackets, for a pattern.
    """
    sums = []
    for name in ("out", "out/../out [again]"):
        out = directory / name
        shutil.rmtree(out, ignore_errors=True)
        command = [sys.executable, str(PACKAGING / "build"), "--out", str(out)]
        for binary in binaries:
            command += ["--binary", str(binary)]
        done = subprocess.run(command, check=False)
        if done.returncode != 0:
            raise Problem("packaging/build failed", cannot_here=done.returncode == 3)
        sums.append((out / "SHA256SUMS").read_text())
    shutil.rmtree(directory / "out [again]")
    if sums[0] != sums[1]:
        differing = set(sums[0].splitlines()) ^ set(sums[1].splitlines())
        raise Problem("two builds of one program differ:\n" + "\n".join(sorted(differing)))
    return Packages(directory / "out", directory)


def said(command, status=0, **options):
    """What a command printed; it must end with `status`."""
    command = [str(word) for word in command]
    done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    assert done.returncode == status, f"`{' '.join(command)}` ended with {done.returncode}, not {status}:\n{done.stdout[-3000:]}"
    return done.stdout


def measures(prefix, file, engine="auto", program="iostall", **options):
    """A real load on a file: `prefix` enters the place where the program is."""
    load = ["load", "--preset", "random-read", "--engine", engine, "--warmup", "0s", "--duration", "1s", "--size", "16M", file]
    text = said([*prefix, program, *load], **options)
    assert "IOPS" in text, f"the load reported no IOPS:\n{text}"
