"""What every package carries: the program, manual pages, completions, licences."""

import gzip
import io
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .project import ROOT, Problem, run

# Where shells look, in a home directory's or a system's share/.
COMPLETIONS = {
    "bash": "bash-completion/completions/iostall",
    "zsh": "zsh/site-functions/_iostall",
    "fish": "fish/vendor_completions.d/iostall.fish",
}


@dataclass(frozen=True)
class Payload:
    program: object
    # Name of a page, such as iostall.1, to its text.
    pages: dict
    # Path below share/ to its text.
    completions: dict
    documents: dict


def payload(program, printer):
    """`printer` is the same version of the program for this machine: it prints the pages and completions."""
    if not printer.runs_here():
        raise Problem(
            f"{printer.path} does not run on this machine, and so cannot print its manual pages",
            "package x86_64 and aarch64 together, or give a program for this machine with --pages-from",
        )
    with tempfile.TemporaryDirectory() as directory:
        run([printer.path, "man", directory])
        pages = {page.name: page.read_bytes() for page in sorted(Path(directory).iterdir())}
    completions = {
        path: run([printer.path, "completions", shell]).encode() for shell, path in COMPLETIONS.items()
    }
    documents = {name: (ROOT / name).read_bytes() for name in ("CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md")}
    documents["LICENSES-OF-LIBRARIES.txt"] = licences_of_libraries(program.target)
    return Payload(program, pages, completions, documents)


def licences_of_libraries(target):
    """The texts that the licences of the linked libraries ask to be passed on, each text once."""
    metadata = json.loads(
        run(["cargo", "metadata", "--format-version=1", "--locked", "--filter-platform", target], cwd=ROOT)
    )
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    waiting = [metadata["resolve"]["root"]]
    linked = set()
    while waiting:
        found = waiting.pop()
        if found not in linked:
            linked.add(found)
            # Build scripts and tests are not in the program.
            used = [dep["pkg"] for dep in nodes[found]["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"])]
            waiting.extend(used)
    users_of = {}
    lines = ["The program contains these libraries. Their licences follow.", ""]
    for package in sorted((packages[found] for found in linked), key=lambda package: (package["name"], package["version"])):
        if package["source"] is None:
            continue
        name = f"{package['name']} {package['version']}"
        lines.append(f"{name}: {package['license'] or 'see its text'}")
        for text in licence_texts(Path(package["manifest_path"]).parent):
            users_of.setdefault(text, []).append(name)
    for text, users in users_of.items():
        lines += ["", "-" * 80, ", ".join(users), "", text]
    return ("\n".join(lines) + "\n").encode()


def licence_texts(directory):
    names = ("LICEN", "COPYING", "NOTICE", "COPYRIGHT", "UNLICENSE")
    files = [file for file in sorted(directory.iterdir()) if file.is_file() and file.name.upper().startswith(names)]
    return [file.read_text(errors="replace").strip() for file in files if file.suffix not in (".rs", ".toml")]


def compressed(data):
    """As gzip does it, without the time."""
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=9, mtime=0) as file:
        file.write(data)
    return out.getvalue()
