"""The tools from PyPI that make packages, in an environment of their own."""

import os
import shutil
import subprocess
import sys

from .project import PACKAGING, ROOT, Problem

CROSS = ("cargo-zigbuild", "ziglang")


class Tools:
    """Programs of an environment below the target directory, installed when first asked for."""

    def __init__(self):
        target = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
        self.home = target / "packaging" / "tools"

    def program(self, name):
        """The path of a tool, installed if need be. The cross compiler is large and comes only when it is used."""
        lines = [line for line in (PACKAGING / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
        is_cross = name in CROSS
        wanted = [line for line in lines if line.startswith(CROSS) == is_cross]
        stamp = self.home / ("cross" if is_cross else "plain")
        if not stamp.exists() or stamp.read_text().splitlines() != wanted:
            self._install(wanted)
            stamp.write_text("\n".join(wanted))
        return self.home / "bin" / name

    def _install(self, wanted):
        if not (self.home / "bin" / "python").exists():
            shutil.rmtree(self.home, ignore_errors=True)
            self._call([sys.executable, "-m", "venv", str(self.home)])
        self._call([str(self.home / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", *wanted])

    @staticmethod
    def _call(command):
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            said = "\n".join(done.stderr.strip().splitlines()[-5:])
            raise Problem(
                f"the tools of packaging/requirements.txt could not be installed:\n{said}",
                "they come from PyPI, and need python3-venv",
                cannot_here=True,
            )
