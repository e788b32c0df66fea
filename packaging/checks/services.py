"""The service, as far as it can be tried without a running systemd."""

import shutil

from steps.project import PACKAGING, Problem

from .packages import said


def unit(packages):
    """systemd wants to see the program that the unit starts, so both go into a root of their own."""
    if shutil.which("systemd-analyze") is None:
        raise Problem("there is no systemd-analyze", "install systemd", cannot_here=True)
    root = packages.fresh("unit")
    said(["dpkg-deb", "--extract", packages.all("*.deb")[0], root])
    text = said(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", f"--root={root}", "iostall-collect.service"])
    assert "iostall-collect.service:" not in text, text
    assert (root / "usr/lib/systemd/system/iostall-collect.service").read_bytes() == (PACKAGING / "system/iostall-collect.service").read_bytes()
