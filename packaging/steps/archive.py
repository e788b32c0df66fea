"""Archives with the same bytes each time: the release's tar, and the formula that Homebrew reads."""

import gzip
import hashlib
import io
import tarfile
from string import Template

from .payload import COMPLETIONS
from .project import PACKAGING, download_url


class Archive:
    """Entries by path; written in order of their paths, all with one time and owned by root."""

    def __init__(self):
        self.entries = {}

    def directory(self, path, mode=0o755):
        self.entries[path] = ("directory", mode, None)

    def file(self, path, data, mode=0o644):
        self.entries[path] = ("file", mode, data)

    def link(self, path, destination):
        self.entries[path] = ("link", 0o777, destination)

    def write(self, out, epoch):
        """As a tar. Parents that were not named are made."""
        for path in list(self.entries):
            parts = path.split("/")[:-1]
            for depth in range(1, len(parts) + 1):
                self.entries.setdefault("/".join(parts[:depth]), ("directory", 0o755, None))
        with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
            for path, (kind, mode, content) in sorted(self.entries.items()):
                info = tarfile.TarInfo(path)
                info.mode, info.mtime = mode, epoch
                info.uname = info.gname = "root"
                if kind == "directory":
                    info.type = tarfile.DIRTYPE
                    tar.addfile(info)
                elif kind == "link":
                    info.type, info.linkname = tarfile.SYMTYPE, content
                    tar.addfile(info)
                else:
                    info.size = len(content)
                    tar.addfile(info, io.BytesIO(content))

    def tar(self, epoch):
        out = io.BytesIO()
        self.write(out, epoch)
        return out.getvalue()


def gzipped(data):
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=6, mtime=0) as file:
        file.write(data)
    return out.getvalue()


def tarball(project, payload, out):
    """The tar that cargo-binstall, Homebrew and people unpack."""
    archive = Archive()
    top = f"{project.name}-{project.version}-{payload.program.target}"
    archive.file(f"{top}/iostall", payload.program.path.read_bytes(), 0o755)
    archive.link(f"{top}/diskspd", "iostall")
    for name, text in payload.pages.items():
        archive.file(f"{top}/share/man/man1/{name}", text)
    for path, text in payload.completions.items():
        archive.file(f"{top}/share/{path}", text)
    for name, text in payload.documents.items():
        archive.file(f"{top}/{name}", text)
    for name in ("collector.toml", "iostall-collect.service", "iostall.sysusers"):
        archive.file(f"{top}/service/{name}", (PACKAGING / "system" / name).read_bytes())
    # The name comes from the same template that cargo-binstall reads.
    path = out / download_url(project, payload.program.target).rsplit("/", 1)[1]
    path.write_bytes(gzipped(archive.tar(project.epoch)))
    return path


def formula(project, tarballs, out):
    """Homebrew's formula, for the tars that were made: machine -> (target, path)."""
    words = {"intel": "x86_64", "arm": "aarch64"}
    blocks = []
    for word, machine in words.items():
        if machine in tarballs:
            target, path = tarballs[machine]
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            url = download_url(project, target)
            blocks.append(f'    on_{word} do\n      url "{url}"\n      sha256 "{digest}"\n    end')
    text = Template((PACKAGING / "iostall.rb.in").read_text()).substitute(
        description=project.description,
        repository=project.repository,
        version=project.version,
        blocks="\n".join(blocks),
        **{shell: f"share/{path}" for shell, path in COMPLETIONS.items()},
    )
    path = out / "iostall.rb"
    path.write_text(text)
    return path
