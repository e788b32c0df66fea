"""A Python wheel, so that `pip install` and `uvx` put the program on the PATH."""

import os
import shutil
from pathlib import Path

from .project import ROOT, run


def wheel(project, payload, tools, out, work):
    """`wheel pack` writes the archive and its record, with the time of SOURCE_DATE_EPOCH."""
    directory = work / f"{project.name}-{project.version}"
    shutil.rmtree(directory, ignore_errors=True)
    info = directory / f"{project.name}-{project.version}.dist-info"
    data = directory / f"{project.name}-{project.version}.data"
    put(data / "scripts" / "iostall", payload.program.path.read_bytes(), 0o755)
    for name, text in payload.pages.items():
        put(data / "data" / "share" / "man" / "man1" / name, text)
    for path, text in payload.completions.items():
        put(data / "data" / "share" / path, text)
    put(info / "METADATA", metadata(project).encode())
    tags = "".join(f"Tag: py3-none-{platform}\n" for platform in platforms(payload.program))
    put(info / "WHEEL", f"Wheel-Version: 1.0\nGenerator: iostall\nRoot-Is-Purelib: false\n{tags}".encode())
    for name, text in payload.documents.items():
        if name.startswith("LICENSE"):
            put(info / "licenses" / name, text)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(project.epoch)}
    before = set(out.glob("*.whl"))
    said = run([tools.program("wheel"), "pack", "--dest-dir", out, directory], env=environment)
    shutil.rmtree(directory)
    named = [path for path in out.glob("*.whl") if path.name in said]
    return (named or sorted(set(out.glob("*.whl")) - before))[0]


def platforms(program):
    """PEP 600's name, and for glibc 2.17 also the older one that pip before 20.3 knows."""
    major, minor = program.glibc
    names = [f"manylinux_{major}_{minor}_{program.machine}"]
    return names + ([f"manylinux2014_{program.machine}"] if (major, minor) == (2, 17) else [])


def metadata(project):
    head = [
        "Metadata-Version: 2.4",
        f"Name: {project.name}",
        f"Version: {project.version}",
        f"Summary: {project.description}",
        f"License-Expression: {project.licence}",
        "License-File: LICENSE-APACHE",
        "License-File: LICENSE-MIT",
        "License-File: LICENSES-OF-LIBRARIES.txt",
        f"Project-URL: Source, {project.repository}",
        "Requires-Python: >=3.7",
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join(head) + "\n\n" + (ROOT / "README.md").read_text()


def put(path: Path, data, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)
