"""Clean roots: what debootstrap makes of a Debian release, and what an OCI layout unpacks to."""

import json
import os
import shutil
import subprocess

from steps.program import inspect
from steps.project import Problem
from steps.system import ARCHITECTURES

from .contents import INSTALLED
from .packages import measures, said

# Removing and purging leave these.
KEPT = ("/var/lib/iostall/iostall.db", "/etc/iostall/db1.password")
SERVICE = "HOME=/var/lib/iostall IOSTALL_STORE=/var/lib/iostall/iostall.db"


def entered(root):
    """Runs a command in `root` with its own processes, and without any network."""
    enter = 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'
    return ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", enter, root]


def clean(packages, suite):
    """A copy of a clean release; the release itself is made once."""
    made = packages.directory / "roots" / suite
    if not (made / "made").exists():
        if os.geteuid() != 0:
            raise Problem("clean roots need root", "run it as root", cannot_here=True)
        shutil.rmtree(made, ignore_errors=True)
        cache = packages.directory / "debs"
        cache.mkdir(parents=True, exist_ok=True)
        # The packages that the image's libraries came from are the same ones.
        downloaded = packages.out / ".cache" / ARCHITECTURES[os.uname().machine]
        if downloaded.is_dir():
            shutil.copytree(downloaded, cache, dirs_exist_ok=True)
        made.parent.mkdir(parents=True, exist_ok=True)
        command = ["debootstrap", "--variant=minbase", f"--cache-dir={cache}", suite, made]
        done = subprocess.run([str(word) for word in command], check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise Problem(f"debootstrap could not make {suite}:\n{done.stdout[-1000:]}{done.stderr[-1000:]}", "install debootstrap; it needs Debian's packages", cannot_here=True)
        (made / "made").touch()
    copy = packages.directory / f"clean-{suite}"
    shutil.rmtree(copy, ignore_errors=True)
    said(["cp", "-a", made, copy])
    return copy


def in_root(root):
    return lambda *command, **options: said([*entered(root), *command], **options)


def installed_and_working(root, version):
    """What must hold after the installation, by whatever packager."""
    run = in_root(root)
    missing = [path for path in INSTALLED if not os.path.lexists(f"{root}{path}")]
    assert not missing, f"not installed: {missing}"
    assert run("iostall", "--version").strip() == f"iostall {version}"
    measures(entered(root), "/var/tmp/load.dat")
    text = run("diskspd", "-d1", "-W0", "-c16M", "-b8K", "-o4", "-t1", "-r", "/var/tmp/diskspd.dat")
    assert "Total IO" in text, text
    # The links must lead somewhere in the root itself.
    page = run("sh", "-c", "gzip -dc /usr/share/man/man1/diskspd.1.gz")
    assert "iostall-diskspd" in page, page[:200]
    run("bash", "-n", "/usr/share/bash-completion/completions/iostall")
    account = run("getent", "passwd", "iostall").strip().split(":")
    assert int(account[2]) < 1000 and account[6].endswith("nologin"), account
    assert run("stat", "-c", "%U:%G %a", "/etc/iostall").strip() == "root:iostall 750"
    run("iostall", "collect", "check", "/etc/iostall/collector.toml")


def collects(root):
    """What the unit does, by hand: its directory, its account, its command, for two seconds."""
    run = in_root(root)
    unit = (root / "usr/lib/systemd/system/iostall-collect.service").read_text()
    command = next(line.removeprefix("ExecStart=") for line in unit.splitlines() if line.startswith("ExecStart="))
    run("install", "-d", "-o", "iostall", "-g", "iostall", "-m", "0750", "/var/lib/iostall")
    once = command.replace("collect run --config", "collect run --duration 2s --config")
    run("su", "-s", "/bin/sh", "iostall", "-c", f"{SERVICE} {once}")
    assert run("stat", "-c", "%U", KEPT[0]).strip() == "iostall"
    run("install", "-m", "0600", "-o", "iostall", "/dev/null", KEPT[1])


def removed(root, configuration_kept):
    for path in KEPT:
        assert os.path.lexists(f"{root}{path}"), f"removing the package removed {path}"
    assert in_root(root)("getent", "passwd", "iostall"), "the account that owns the data is gone"
    left = [path for path in INSTALLED if os.path.lexists(f"{root}{path}") and not path.startswith("/etc")]
    assert not left, f"left behind: {left}"
    changed = root / "etc/iostall/collector.toml"
    assert not configuration_kept or "# mine" in changed.read_text(), "a changed configuration was not kept"


def deb(packages, suite):
    root = clean(packages, suite)
    file = packages.one(f"*_{ARCHITECTURES[os.uname().machine]}.deb")
    needed, there = inspect_deb(file), glibc_of(root)
    if needed > there:
        raise AssertionError(f"{file.name} needs glibc {needed}, {suite} has {there}")
    shutil.copy(file, root / "tmp" / file.name)
    run = in_root(root)
    run("dpkg", "--install", f"/tmp/{file.name}")
    installed_and_working(root, packages.version)
    collects(root)
    with (root / "etc/iostall/collector.toml").open("a") as configuration:
        configuration.write("# mine\n")
    # As an upgrade does it: a changed configuration stays, without a question.
    run("dpkg", "--install", f"/tmp/{file.name}")
    assert "# mine" in (root / "etc/iostall/collector.toml").read_text()
    run("dpkg", "--remove", "iostall")
    removed(root, configuration_kept=True)
    run("dpkg", "--purge", "iostall")
    removed(root, configuration_kept=False)
    shutil.rmtree(root)


def inspect_deb(file):
    field = said(["dpkg-deb", "--field", file, "Depends"])
    return tuple(int(part) for part in field.split(">= ")[1].split(")")[0].split("."))


def glibc_of(root):
    text = said(["chroot", root, "ldd", "--version"]).splitlines()[0]
    return tuple(int(part) for part in text.rsplit(" ", 1)[1].split("."))


def rpm(packages, suite):
    root = clean(packages, suite)
    file = packages.one(f"*.{os.uname().machine}.rpm")
    tool = ["rpm", "--root", root, "--nodeps"]
    requires = said(["rpm", "-qp", "--requires", file])
    assert "glibc >= 2." in requires, requires
    said([*tool, "--install", file])
    installed_and_working(root, packages.version)
    collects(root)
    with (root / "etc/iostall/collector.toml").open("a") as configuration:
        configuration.write("# mine\n")
    said([*tool, "--upgrade", "--force", file])
    assert "# mine" in (root / "etc/iostall/collector.toml").read_text()
    said([*tool, "--erase", "iostall"])
    removed(root, configuration_kept=False)
    shutil.rmtree(root)


def unpacked(packages, machine):
    """The image of one machine as umoci, a tool of others, reads and unpacks it."""
    place = packages.fresh(f"oci-{machine}")
    layout = place / "layout"
    layout.mkdir()
    said(["tar", "-xf", packages.one("*-oci.tar"), "-C", layout])
    if shutil.which("umoci") is None:
        raise Problem("there is no umoci", "install umoci", cannot_here=True)
    flatten(layout, ARCHITECTURES[machine])
    said(["umoci", "unpack", "--image", f"{layout}:{packages.version}", place / "bundle"])
    return place / "bundle" / "rootfs"


def flatten(layout, architecture):
    """Points the layout's index to the image of one machine, because umoci asks which one is meant."""
    index = json.loads((layout / "index.json").read_text())
    (named,) = index["manifests"]
    if named["mediaType"].endswith("index.v1+json"):
        inner = json.loads((layout / "blobs/sha256" / named["digest"].split(":")[1]).read_text())
        (chosen,) = [one for one in inner["manifests"] if one["platform"]["architecture"] == architecture]
        index["manifests"] = [{**chosen, "annotations": named["annotations"]}]
        (layout / "index.json").write_text(json.dumps(index))


def image(packages):
    root = unpacked(packages, os.uname().machine)
    run = in_root(root)
    assert run("/usr/bin/iostall", "--version").strip() == f"iostall {packages.version}"
    measures(entered(root), "/data/load.dat", program="/usr/bin/iostall")
    assert "Total IO" in run("/usr/bin/diskspd", "-d1", "-W0", "-c16M", "-b8K", "/data/diskspd.dat")
    # Without the release's time zones this one would be refused or be UTC.
    run("/usr/bin/iostall", "runs", env={"TZ": "Europe/Zurich", "PATH": "/usr/bin:/usr/sbin:/bin:/sbin", "IOSTALL_STORE": "/tmp/iostall.db"})
    assert (root / "usr/share/zoneinfo/Europe/Zurich").is_file()
    roots_of_trust = (root / "etc/ssl/certs/ca-certificates.crt").read_text().count("BEGIN CERTIFICATE")
    assert roots_of_trust > 100, f"only {roots_of_trust} certificates"
    assert 'VERSION_CODENAME=bookworm' in (root / "usr/lib/os-release").read_text()
    assert (root / "var/lib/dpkg/status.d/libc6").is_file()
    assert inspect(root / "usr/bin/iostall").machine == os.uname().machine
    shutil.rmtree(packages.directory / f"oci-{os.uname().machine}")
