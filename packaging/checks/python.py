"""The wheel, as pip and uvx install it."""

import os
import sys

from .packages import measures, said


def own_wheel(packages):
    return packages.one(f"*{os.uname().machine}.whl")


def pip(packages):
    home = packages.fresh("venv")
    said([sys.executable, "-m", "venv", home / "env"])
    programs = home / "env" / "bin"
    said([programs / "pip", "install", "--no-index", "--disable-pip-version-check", own_wheel(packages)])
    assert said([programs / "iostall", "--version"]).strip() == f"iostall {packages.version}"
    measures([], home / "load.dat", program=programs / "iostall", env=alone(home))
    assert (home / "env/share/man/man1/iostall.1").is_file()
    shown = said([programs / "pip", "show", "--files", "iostall"])
    assert "License-Expression: MIT OR Apache-2.0" in shown or "License: " in shown, shown
    # pip checks the wheel's own record when it removes what it lists.
    said([programs / "pip", "uninstall", "--yes", "--quiet", "iostall"])
    assert not (programs / "iostall").exists()


def uvx(packages):
    home = packages.fresh("uv")
    said([sys.executable, "-m", "venv", home / "env"])
    programs = home / "env" / "bin"
    said([programs / "pip", "install", "--quiet", "--disable-pip-version-check", "uv"])
    environment = {**alone(home), "UV_CACHE_DIR": str(home / "cache"), "UV_PYTHON_DOWNLOADS": "never"}
    command = [programs / "uvx", "--python", sys.executable, "--from", own_wheel(packages), "iostall", "--version"]
    assert f"iostall {packages.version}" in said(command, env=environment)


def alone(home):
    """An environment whose store and settings are nobody's."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
