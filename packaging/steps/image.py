"""An OCI image layout without a daemon: a layer with what a named Debian release lends, and one with iostall."""

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
from datetime import datetime, timezone

from .archive import Archive, gzipped
from .project import SUITE, Problem, run
from .system import ARCHITECTURES

# What is taken of each package of the release, and nothing else of it.
LENT = {
    "libc6": re.compile(r"(usr/)?lib(64)?/([^/]+/)?[^/]+\.so(\.\d+)*$"),
    "libgcc-s1": re.compile(r"(usr/)?lib/[^/]+/libgcc_s\.so\.1$"),
    "ca-certificates": re.compile(r"usr/share/ca-certificates/mozilla/.+\.crt$"),
    "tzdata": re.compile(r"usr/share/zoneinfo/(?!right/|posix/).+"),
    "base-files": re.compile(r"(usr/lib/os-release|etc/os-release|etc/debian_version)$"),
}
ACCOUNTS = {
    "etc/passwd": "root:x:0:0:root:/root:/sbin/nologin\niostall:x:10001:10001::/var/lib/iostall:/sbin/nologin\n",
    "etc/group": "root:x:0:\niostall:x:10001:\n",
}


def check_tools():
    """Before anything is made, because this is the last step."""
    missing = [tool for tool in ("debootstrap", "dpkg-deb") if shutil.which(tool) is None]
    if missing or os.geteuid() != 0:
        why = f"{' and '.join(missing)} must be installed" if missing else "debootstrap runs only as root"
        raise Problem(f"the container image cannot be made: {why}", "--only wheel --only tar --only system leaves it out", cannot_here=True)


def lent_packages(machine, cache, work):
    """Downloads the release's packages; debootstrap checks their signatures. Name -> file."""
    architecture = ARCHITECTURES[machine]
    directory = work / f"debian-{architecture}"
    cache = cache / architecture
    cache.mkdir(parents=True, exist_ok=True)
    command = ["debootstrap", "--variant=minbase", "--download-only", f"--arch={architecture}"]
    command += [f"--include={','.join(LENT)}", f"--cache-dir={cache.resolve()}", SUITE, directory]
    try:
        run(command, hint="install debootstrap, and run as root")
    except Problem as problem:
        raise Problem(str(problem), problem.hint, cannot_here=True) from None
    found = {}
    for package in LENT:
        files = sorted((directory / "var" / "cache" / "apt" / "archives").glob(f"{package}_*.deb"))
        if not files:
            raise Problem(f"debootstrap did not download {package} of {SUITE}")
        found[package] = files[-1]
    return found


def base_layer(packages):
    """The loader, libc, certificates and time zones, and the lists that scanners of images read."""
    archive, versions, certificates = Archive(), {}, []
    for package, deb in packages.items():
        copy_lent(deb, LENT[package], archive, certificates)
        control = run(["dpkg-deb", "--field", deb], hint="install dpkg")
        versions[package] = re.search(r"^Version: (.+)$", control, re.MULTILINE).group(1)
        archive.file(f"var/lib/dpkg/status.d/{package}", f"{control}Status: install ok installed\n".encode())
    # Debian's own script joins them in this way when the package is installed.
    archive.file("etc/ssl/certs/ca-certificates.crt", b"".join(certificates))
    for path, text in ACCOUNTS.items():
        archive.file(path, text.encode())
    for path, mode in {"tmp": 0o1777, "proc": 0o755, "sys": 0o755, "dev": 0o755, "data": 0o777, "var/lib/iostall": 0o777}.items():
        archive.directory(path, mode)
    return archive, versions


def copy_lent(deb, wanted, archive, certificates):
    with tarfile.open(fileobj=io.BytesIO(output_of(["dpkg-deb", "--fsys-tarfile", deb]))) as tar:
        for member in sorted(tar.getmembers(), key=lambda member: member.name):
            path = member.name.removeprefix("./")
            is_licence = re.fullmatch(r"usr/share/doc/[^/]+/copyright", path)
            if not (wanted.match(path) or is_licence):
                continue
            if member.issym():
                archive.link(path, member.linkname)
            elif member.isfile() or member.islnk():
                data = tar.extractfile(member).read()
                if path.endswith(".crt"):
                    certificates.append(data.rstrip(b"\n") + b"\n")
                else:
                    archive.file(path, data, member.mode & 0o755 | 0o444)


def output_of(command):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE).stdout


def own_layer(payload):
    archive = Archive()
    archive.file("usr/bin/iostall", payload.program.path.read_bytes(), 0o755)
    archive.link("usr/bin/diskspd", "iostall")
    for name, text in payload.documents.items():
        if name.startswith("LICENSE"):
            archive.file(f"usr/share/doc/iostall/{name}", text)
    return archive


class Layout:
    """Blobs by their digest."""

    def __init__(self):
        self.blobs = {}

    def add(self, data, media_type, **more):
        digest = hashlib.sha256(data).hexdigest()
        self.blobs[digest] = data
        return {"mediaType": f"application/vnd.oci.image.{media_type}", "digest": f"sha256:{digest}", "size": len(data), **more}

    def add_json(self, value, media_type, **more):
        return self.add(json.dumps(value, sort_keys=True).encode(), media_type, **more)


def image(project, payloads, out, work, cache):
    """One layout for all machines, as a tar that `podman load`, `docker load` and `skopeo copy oci-archive:` take."""
    layout = Layout()
    manifests = [manifest(layout, project, payload, lent_packages(payload.program.machine, cache, work)) for payload in payloads]
    top = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests}
    named = {"org.opencontainers.image.ref.name": project.version}
    if len(manifests) > 1:
        # An index inside the index gives the image of several machines one name.
        top["manifests"] = [layout.add_json(dict(top), "index.v1+json", annotations=named)]
    else:
        manifests[0]["annotations"] = named
    archive = Archive()
    archive.file("oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
    archive.file("index.json", json.dumps(top, sort_keys=True).encode())
    for digest, data in layout.blobs.items():
        archive.file(f"blobs/sha256/{digest}", data)
    path = out / f"{project.name}-{project.version}-oci.tar"
    with path.open("wb") as file:
        archive.write(file, project.epoch)
    return path


def manifest(layout, project, payload, packages):
    base, versions = base_layer(packages)
    layers = [base.tar(project.epoch), own_layer(payload).tar(project.epoch)]
    created = datetime.fromtimestamp(project.epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    platform = {"architecture": ARCHITECTURES[payload.program.machine], "os": "linux"}
    labels = {
        "org.opencontainers.image.title": project.name,
        "org.opencontainers.image.description": project.description,
        "org.opencontainers.image.version": project.version,
        "org.opencontainers.image.licenses": project.licence,
        "org.opencontainers.image.source": project.repository,
        "org.opencontainers.image.base.name": f"debian:{SUITE}",
    }
    lent = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    configuration = {
        **platform,
        "created": created,
        "config": {
            "Entrypoint": ["/usr/bin/iostall"],
            "Cmd": ["--help"],
            "Env": ["PATH=/usr/bin", "IOSTALL_STORE=/var/lib/iostall/iostall.db"],
            "WorkingDir": "/data",
            "Labels": labels,
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers]},
        "history": [
            {"created": created, "created_by": f"packaging/build: {lent} of Debian {SUITE}"},
            {"created": created, "created_by": f"packaging/build: {project.name} {project.version}"},
        ],
    }
    value = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": layout.add_json(configuration, "config.v1+json"),
        "layers": [layout.add(gzipped(layer), "layer.v1.tar+gzip") for layer in layers],
        "annotations": labels,
    }
    return layout.add_json(value, "manifest.v1+json", platform=platform)
