"""The program that is packaged: built against an old glibc, or given; and what it needs of a machine."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .project import ROOT, Problem, run

# The oldest glibc that Rust's standard library runs on: RHEL 7, Debian 8.
GLIBC = "2.17"
TARGETS = {"x86_64": "x86_64-unknown-linux-gnu", "aarch64": "aarch64-unknown-linux-gnu"}
MACHINES = {"Advanced Micro Devices X86-64": "x86_64", "AArch64": "aarch64"}
# Libraries a program may need, and the packages of Debian and of the RPM distributions that have them.
GLIBC_LIBRARIES = re.compile(r"(ld-linux.*|libc|libm|libdl|librt|libpthread|libresolv|libutil)\.so\.\d+$")
OTHER_LIBRARIES = {"libgcc_s.so.1": ("libgcc-s1 | libgcc1", "libgcc")}


@dataclass(frozen=True)
class Program:
    path: Path
    # As `uname -m` says it.
    machine: str
    # The lowest glibc that has all symbols, as (2, 17).
    glibc: tuple
    libraries: tuple

    @property
    def target(self):
        return TARGETS[self.machine]

    def depends(self, family):
        """The packages it needs: `family` is 0 for Debian, 1 for RPM."""
        version = ".".join(map(str, self.glibc))
        found = [(f"libc6 (>= {version})", f"glibc >= {version}")[family]]
        return found + [OTHER_LIBRARIES[library][family] for library in self.libraries if library in OTHER_LIBRARIES]

    def runs_here(self):
        return self.machine == os.uname().machine


def inspect(path):
    """Reads what a program needs from its ELF headers."""
    if not path.is_file():
        raise Problem(f"there is no program {path}", "build it with `cargo build --release`, or leave --binary out")
    if shutil.which("readelf") is None:
        raise Problem("there is no readelf", "install binutils", cannot_here=True)
    hint = f"{path} must be a Linux program"
    text = run(["readelf", "-W", "-h", "-d", "-V", path], hint=hint, env={**os.environ, "LC_ALL": "C"})
    machine = re.search(r"Machine:\s+(.+)", text)
    machine = MACHINES.get(machine.group(1).strip()) if machine else None
    if machine is None:
        raise Problem(f"{path} is no Linux program for x86_64 or aarch64")
    libraries = tuple(sorted(re.findall(r"\(NEEDED\).*\[(.+?)\]", text)))
    for library in libraries:
        if not GLIBC_LIBRARIES.match(library) and library not in OTHER_LIBRARIES:
            raise Problem(f"{path} needs {library}, and no package is known that has it", "add it to packaging/steps/program.py")
    versions = [tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_(\d+\.\d+)", text)]
    return Program(path, machine, max(versions, default=(2, 17))[:2], libraries)


def build(machine, tools):
    """Builds the program that is shipped for `machine` against the oldest glibc."""
    target = TARGETS[machine]
    installed = run(["rustup", "target", "list", "--installed"], hint="install Rust with rustup").split()
    if target not in installed:
        done = subprocess.run(["rustup", "target", "add", target], cwd=ROOT, check=False)
        if done.returncode != 0:
            raise Problem(f"Rust's standard library for {target} could not be installed", cannot_here=True)
    zigbuild = tools.program("cargo-zigbuild")
    environment = {**os.environ, "PATH": f"{zigbuild.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    command = ["cargo-zigbuild", "zigbuild", "--profile", "dist", "--locked", "--package", "iostall", "--bin", "iostall"]
    done = subprocess.run([*command, "--target", f"{target}.{GLIBC}"], cwd=ROOT, env=environment, check=False)
    if done.returncode != 0:
        raise Problem(f"the build for {target} failed")
    target_directory = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
    return target_directory / target / "dist" / "iostall"


def stripped(path, into):
    """A copy without symbols. The release profile leaves none; a given debug build has most of its bytes there."""
    program = inspect(path)
    into.mkdir(parents=True, exist_ok=True)
    copy = into / "iostall"
    shutil.copyfile(path, copy)
    copy.chmod(0o755)
    sections = run(["readelf", "-W", "-S", path], env={**os.environ, "LC_ALL": "C"})
    if ".symtab" in sections or ".debug_info" in sections:
        strip, package = ("strip", "binutils") if program.runs_here() else (f"{program.machine}-linux-gnu-strip", f"binutils-{program.machine}-linux-gnu")
        run([strip, "--strip-all", copy], hint=f"install {package}, or build with the release profile, which strips")
    return Program(copy, program.machine, program.glibc, program.libraries)
