//! iostall creates no files among the devices. The tests run in a mount namespace with a tmpfs on `/dev`, so
//! that the machine's own `/dev` is not touched.

use std::process::Command;

use crate::support::{Ran, Workspace, binary, skip};

/// Mounts an empty file system on `/dev` with two device nodes that nothing opens, runs the command, and
/// lists `/dev` afterwards.
const IN_OWN_DEV: &str = "
    set -e
    mount -t tmpfs none /dev
    mknod /dev/null c 1 3
    mknod /dev/nvme0n1 b 7 1048000
    mknod /dev/vda b 7 1048001
    mkdir /dev/shm /dev/own
    mount -t tmpfs none /dev/own
    set +e
    \"$@\"
    status=$?
    find /dev -type f > found
    exit $status
";

/// The program's result with a private `/dev`, and the regular files there afterwards. `None`, with a
/// message, if mount namespaces are not available.
fn in_own_dev(here: &Workspace, arguments: &[&str]) -> Option<(Ran, String)> {
    let unshare = ["--mount", "--propagation", "private", "sh", "-c"];
    let probe = Command::new("unshare").args(unshare).arg("mount -t tmpfs none /dev").output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        skip("files in /dev", "a mount namespace with a /dev of its own cannot be had");
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(unshare).arg(IN_OWN_DEV).arg("sh").arg(binary()).args(arguments);
    command.current_dir(here.path("")).env("IOSTALL_STORE", here.path("store.db")).env("LC_ALL", "C.UTF-8");
    let ran: Ran = command.output().expect("unshare runs").into();
    let found = std::fs::read_to_string(here.path("found")).unwrap_or_else(|_| panic!("{}", ran.stderr));
    Some((ran, found))
}

/// All commands that load or write, with a misspelled device.
const AIMED_AT_NOTHING: [&[&str]; 10] = [
    &["load", "--duration", "200ms", "--warmup", "0", "--size", "8M", "/dev/nvme9n1"],
    &["load", "--preset", "random-read", "--duration", "200ms", "--size", "8M", "/dev/nvme9n1"],
    &[
        "load",
        "--preset",
        "postgres",
        "--duration",
        "200ms",
        "--size",
        "8M",
        "--target",
        "log=/dev/nvme9n1",
        "t.dat",
    ],
    &["load", "--duration", "200ms", "--size", "8M", "--overwrite", "/dev/nvme9n1", "/dev/nvme9n1"],
    &["sweep", "--interval", "100ms", "--size", "8M", "/dev/nvme9n1"],
    &["matrix", "--sizes", "8K", "--depths", "1", "--interval", "100ms", "--size", "8M", "/dev/nvme9n1"],
    &["compare", "--fresh", "1", "--duration", "200ms", "--size", "8M", "/dev/nvme9n1", "t.dat"],
    &["diskspd", "-d1", "-W0", "-c8M", "/dev/nvme9n1"],
    &["diskspd", "-d1", "-W0", "-c8M", "-w100", "link"],
    &["write", "--size", "8M", "/dev/nvme9n1"],
];

/// `iostall load /dev/nvme9n1`, a typo for nvme0n1, created a file of 1 GiB in `/dev`, which is in memory,
/// measured it as the device, and left it there for the next run.
#[test]
fn a_device_that_does_not_exist_is_never_made_as_a_file() {
    let here = Workspace::new();
    std::os::unix::fs::symlink("/dev/nvme9n1", here.path("link")).unwrap();
    for arguments in AIMED_AT_NOTHING {
        let Some((ran, found)) = in_own_dev(&here, arguments) else { return };
        assert_eq!(found, "", "{arguments:?} made a file in /dev");
        // DiskSpd returns 1 if it fails.
        let ran = ran.expect_status(if arguments[0] == "diskspd" { 1 } else { 2 });
        assert!(ran.stderr.contains("there is no device "), "{arguments:?}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("hint: there are /dev/nvme0n1, /dev/vda; "),
            "{arguments:?}: {}",
            ran.stderr
        );
    }
}

#[test]
fn shared_memory_and_file_systems_mounted_below_dev_are_places_for_files() {
    let here = Workspace::new();
    for path in ["/dev/shm/t.dat", "/dev/own/t.dat"] {
        let load =
            ["load", "--preset", "random-read", "--duration", "200ms", "--warmup", "0", "--size", "8M", path];
        let Some((ran, found)) = in_own_dev(&here, &load) else { return };
        ran.expect_status(0);
        assert_eq!(found.trim_end(), path);
    }
}
