"""What Cargo.toml and git say of the project."""

import os
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
# The Debian release that lends the OCI image its libraries.
SUITE = "bookworm"


class Problem(Exception):
    """What went wrong, where, and what to do about it. `cannot_here` says that a tool is missing, and nothing is wrong."""

    def __init__(self, message, hint=None, cannot_here=False):
        super().__init__(message)
        self.hint = hint
        self.cannot_here = cannot_here


@dataclass(frozen=True)
class Project:
    name: str
    version: str
    description: str
    repository: str
    licence: str
    # Seconds since 1970 that every file in every package carries.
    epoch: int
    # Where binaries of a release are found: the `pkg-url` of cargo-binstall, as a template.
    url_template: str


def project():
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())
    package, workspace = manifest["package"], manifest["workspace"]["package"]
    return Project(
        name=package["name"],
        version=workspace["version"],
        description=package["description"],
        repository=workspace["repository"],
        licence=workspace["license"],
        epoch=epoch(),
        url_template=package["metadata"]["binstall"]["pkg-url"],
    )


def epoch():
    """The time of the commit, so that the same commit gives the same bytes."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is None:
        given = run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, hint="set SOURCE_DATE_EPOCH outside a git checkout")
    try:
        return int(given)
    except ValueError:
        raise Problem(f"SOURCE_DATE_EPOCH is {given!r}, which is no number of seconds") from None


def download_url(project, target):
    """What cargo-binstall makes of its template."""
    words = {"repo": project.repository, "name": project.name, "version": project.version, "target": target}
    url = project.url_template
    for word, value in words.items():
        url = url.replace("{ " + word + " }", value)
    return url


def run(command, hint=None, **options):
    """Runs a command and returns what it printed, or fails with what it said."""
    command = [str(word) for word in command]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, **options)
    except FileNotFoundError:
        raise Problem(f"there is no program {command[0]}", hint or "install it", cannot_here=True) from None
    if done.returncode != 0:
        said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])
        raise Problem(f"`{' '.join(command)}` ended with status {done.returncode}:\n{said}", hint)
    return done.stdout
