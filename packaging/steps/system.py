"""The .deb and the .rpm, written by nfpm."""

import json
import os
import shutil
from datetime import datetime, timezone
from string import Template

from .payload import COMPLETIONS, compressed
from .project import PACKAGING, run
from .wheel import put

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def packages(project, payload, tools, out, work):
    """Writes both, and returns their paths."""
    stage = work / "system"
    shutil.rmtree(stage, ignore_errors=True)
    put(stage / "iostall", payload.program.path.read_bytes(), 0o755)
    for name, text in payload.pages.items():
        put(stage / "man1" / f"{name}.gz", compressed(text))
    for path, text in payload.completions.items():
        put(stage / "share" / path, text)
    for name, text in documents(project, payload).items():
        put(stage / "doc" / name, text)
    # nfpm takes the times of a tree from its files.
    for path in stage.rglob("*"):
        os.utime(path, (project.epoch, project.epoch))
    configuration = work / "nfpm.yaml"
    configuration.write_text(filled(project, payload.program, stage))
    program = payload.program
    architecture = ARCHITECTURES[program.machine]
    made = {
        "deb": out / f"{project.name}_{project.version}-1_{architecture}.deb",
        "rpm": out / f"{project.name}-{project.version}-1.{program.machine}.rpm",
    }
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(project.epoch)}
    for packager, path in made.items():
        run([tools.program("nfpm"), "package", "--config", configuration, "--packager", packager, "--target", path], env=environment)
    shutil.rmtree(stage)
    configuration.unlink()
    return list(made.values())


def documents(project, payload):
    """In Debian's places: the copyright file names the licences, the changelog is compressed."""
    licences = (payload.documents[name].decode() for name in ("LICENSE-MIT", "LICENSE-APACHE"))
    copyright_file = f"iostall is licensed under {project.licence}, at your choice.\nSource: {project.repository}\n\n" + "\n\n".join(licences)
    return {
        "copyright": copyright_file.encode(),
        "changelog.gz": compressed(payload.documents["CHANGELOG.md"]),
        "LICENSES-OF-LIBRARIES.txt.gz": compressed(payload.documents["LICENSES-OF-LIBRARIES.txt"]),
    }


def filled(project, program, stage):
    words = {
        "arch": ARCHITECTURES[program.machine],
        "version": project.version,
        "repository": project.repository,
        "description": project.description,
        "license": project.licence,
        "time": datetime.fromtimestamp(project.epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        # A list in JSON is one in YAML.
        "depends_deb": json.dumps(program.depends(0)),
        "depends_rpm": json.dumps(program.depends(1)),
        "stage": stage,
        "system": PACKAGING / "system",
        **COMPLETIONS,
    }
    return Template((PACKAGING / "nfpm.yaml").read_text()).substitute(words)
