"""What is in the packages, without installing them."""

import hashlib
import json
import re
import shutil
import tarfile
import tomllib

from steps.program import inspect
from steps.project import ROOT, Problem, download_url, project

from .packages import said

# What every installed package must have, wherever that is below /.
INSTALLED = [
    "/usr/bin/iostall",
    "/usr/bin/diskspd",
    "/usr/share/man/man1/iostall.1.gz",
    "/usr/share/man/man1/iostall-collect-run.1.gz",
    "/usr/share/man/man1/diskspd.1.gz",
    "/usr/share/bash-completion/completions/iostall",
    "/usr/share/fish/vendor_completions.d/iostall.fish",
    "/usr/lib/systemd/system/iostall-collect.service",
    "/usr/lib/sysusers.d/iostall.conf",
    "/etc/iostall/collector.toml",
    "/usr/share/doc/iostall/copyright",
    "/usr/share/doc/iostall/LICENSES-OF-LIBRARIES.txt.gz",
]


def sums(packages):
    said(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=packages.out)
    listed = {line.split("  ")[1] for line in (packages.out / "SHA256SUMS").read_text().splitlines()}
    there = {path.name for path in packages.out.iterdir() if path.is_file()} - {"SHA256SUMS"}
    assert listed == there, f"listed {sorted(listed)}, there {sorted(there)}"


def tar(packages):
    """The template is read here as cargo-binstall reads it, not as packaging/build does."""
    template = tomllib.loads((ROOT / "Cargo.toml").read_text())["package"]["metadata"]["binstall"]
    formula = packages.one("iostall.rb").read_text()
    tars = packages.all("*-linux-gnu.tar.gz")
    assert tars, "there is no tar"
    for path in tars:
        target = path.name.removeprefix(f"iostall-{packages.version}-").removesuffix(".tar.gz")
        values = {"repo": project().repository, "name": "iostall", "version": packages.version, "target": target, "bin": "iostall", "binary-ext": ""}
        url = re.sub(r"\{ ([a-z-]+) \}", lambda word: values[word.group(1)], template["pkg-url"])
        assert url.rsplit("/", 1)[1] == path.name, f"cargo-binstall looks for {url}, and the tar is {path.name}"
        assert url == download_url(project(), target)
        program = re.sub(r"\{ ([a-z-]+) \}", lambda word: values[word.group(1)], template["bin-dir"])
        with tarfile.open(path) as archive:
            names = archive.getnames()
            assert program in names, f"cargo-binstall looks for {program} in {path.name}, which has {names[:5]}"
            assert archive.getmember(program).mode == 0o755
            top = program.rsplit("/", 1)[0]
            assert f"{top}/share/man/man1/iostall.1" in names and f"{top}/LICENSES-OF-LIBRARIES.txt" in names
            unit = archive.extractfile(f"{top}/service/iostall-collect.service").read()
        assert unit == (ROOT / "packaging/system/iostall-collect.service").read_bytes()
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        assert url in formula and digest in formula, f"the formula does not name {url} with its checksum"
    for line in re.findall(r'(?:install|Dir\[) ?"(share/[^"*]+)', formula):
        assert any(name.endswith(line) or f"/{line}" in name for name in names), f"the formula installs {line}, which is not in the tar"


def system(packages):
    for deb in packages.all("*.deb"):
        listed = said(["dpkg-deb", "--contents", deb])
        files = {line.split()[5].removeprefix(".") for line in listed.splitlines()}
        missing = [path for path in INSTALLED if path not in files]
        assert not missing, f"{deb.name} lacks {missing}"
        assert "/usr/share/zsh/vendor-completions/_iostall" in files
        assert re.search(r"\./usr/bin/diskspd -> iostall", listed), listed
        assert all(line.split()[1] in ("root/root", "0/0") for line in listed.splitlines()), listed
        fields = json.dumps(said(["dpkg-deb", "--field", deb]))
        assert re.search(r"Depends: libc6 \(>= 2\.\d+\)", fields), fields


    if shutil.which("rpm") is None:
        raise Problem("there is no rpm", "install rpm", cannot_here=True)
    for rpm in packages.all("*.rpm"):
        files = set(said(["rpm", "-qpl", rpm]).splitlines())
        missing = [path for path in INSTALLED if path not in files]
        assert not missing, f"{rpm.name} lacks {missing}"
        assert "/usr/share/zsh/site-functions/_iostall" in files


def old_glibc(packages):
    for path in packages.all("*.tar.gz"):
        place = packages.fresh("old-glibc")
        said(["tar", "-xzf", path, "-C", place, "--strip-components=1"])
        program = inspect(place / "iostall")
        assert program.glibc <= (2, 17), f"{path.name} needs glibc {program.glibc}"
        assert "manylinux2014_" + program.machine in " ".join(wheel.name for wheel in packages.all("*.whl"))
