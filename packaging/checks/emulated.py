"""aarch64 under qemu, in the root of its own OCI image."""

import shutil

from steps.project import Problem

from .packages import measures, said
from .roots import unpacked


def aarch64(packages):
    qemu = shutil.which("qemu-aarch64-static")
    if qemu is None:
        raise Problem("there is no qemu-aarch64-static", "install qemu-user-static", cannot_here=True)
    root = unpacked(packages, "aarch64")
    # qemu looks for the loader and libraries below that root first.
    program = [qemu, "-L", root, root / "usr/bin/iostall"]
    assert said([*program, "--version"]).strip() == f"iostall {packages.version}"
    place = packages.fresh("emulated")
    store = {"HOME": str(place), "IOSTALL_STORE": str(place / "iostall.db"), "PATH": "/usr/bin:/bin"}
    # qemu does not translate io_uring; threads are what the program falls back to on such a kernel.
    measures(program[:-1], place / "load.dat", engine="psync", program=program[-1], env=store)
    shutil.rmtree(packages.directory / "oci-aarch64")
