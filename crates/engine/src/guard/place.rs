//! Where a new file may be created: not in `/dev` and not in the kernel's pseudo file systems.
//!
//! A file in `/dev` lives in memory, so a load on it measures no device. The mount table decides, because
//! devtmpfs has the magic number of tmpfs; in a container a tmpfs may be mounted on `/dev` instead.

use std::cmp::Reverse;
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use iostall_host::{Mount, System};
use iostall_measure::WindowsPath;
use rustix::fs::{StatFs, statfs};

use super::refusal::Refusal;

const DEVICES: &str = "/dev";

/// POSIX shared memory, whether or not it is a separate mount.
const SHARED_MEMORY: &str = "/dev/shm";

/// The kernel follows at most this many links in a path.
pub(super) const LINKS_MAX: u32 = 40;

const SIMILAR_MAX: usize = 6;

/// File systems that hold only devices and kernel controls, with their magic numbers from `linux/magic.h`.
/// Writing to files there changes settings or starts actions.
const KERNEL_FILE_SYSTEMS: [(u64, &str); 18] = [
    (0x9fa0, "proc"),
    (0x6265_6572, "sysfs"),
    (0x0027_e0eb, "cgroup"),
    (0x6367_7270, "cgroup2"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
    (0x7363_6673, "securityfs"),
    (0x6265_6570, "configfs"),
    (0xde5e_81e4, "efivarfs"),
    (0x6165_676c, "pstore"),
    (0xcafe_4a11, "bpf"),
    (0xf97c_ff8c, "selinuxfs"),
    (0x1cd1, "devpts"),
    (0x1980_0202, "mqueue"),
    (0x4249_4e4d, "binfmt_misc"),
    (0x6573_5543, "fusectl"),
    (0x6e66_7364, "nfsd"),
    (0x6759_6969, "rpc_pipefs"),
];

/// Whether a new file may be created at `path`, by any command. Follows links, including dangling ones;
/// directories on the way may be missing.
///
/// Checks only the place, not whether an existing file may be replaced. Refuses `/dev`, except file systems
/// mounted below it such as `/dev/shm`, any devtmpfs, proc, sysfs and the like, and Windows paths, which
/// Linux would accept as file names.
pub fn check_new_file(path: &Path) -> Result<(), Refusal> {
    check_new_file_on(&System::here(), path)
}

/// Whether a new file may have the name `path`, as it was typed.
pub fn check_name(path: &Path) -> Result<(), Refusal> {
    match path.to_str().and_then(WindowsPath::of) {
        Some(kind) if path.symlink_metadata().is_err() => {
            Err(Refusal::WindowsPath { path: path.to_owned(), kind })
        }
        _ => Ok(()),
    }
}

pub(super) fn check_new_file_on(system: &System, path: &Path) -> Result<(), Refusal> {
    check_name(path)?;
    let failed = |source| Refusal::System { path: path.to_owned(), action: "find the directory", source };
    let place = std::path::absolute(path).and_then(|path| place_of(&path, LINKS_MAX)).map_err(failed)?;
    let existing = place.ancestors().skip(1).find(|directory| directory.exists());
    let directory = existing.unwrap_or(Path::new("/"));
    check_directory(system, &place, directory)
}

/// Whether two paths lead to the same file or device through any links, or would once it is created.
pub fn is_same_place(one: &Path, other: &Path) -> bool {
    if let (Ok(one), Ok(other)) = (std::fs::metadata(one), std::fs::metadata(other)) {
        // Two nodes of one device have different inodes.
        let is_device = one.file_type().is_block_device() && other.file_type().is_block_device();
        return if is_device { one.rdev() == other.rdev() } else { same_inode(&one, &other) };
    }
    let place = |path: &Path| std::path::absolute(path).and_then(|path| place_of(&path, LINKS_MAX)).ok();
    place(one).is_some_and(|one| place(other) == Some(one))
}

/// Refuses an existing regular file at the resolved `path` in a directory for devices.
pub(super) fn check_file_is_not_among_devices(system: &System, path: &Path) -> Result<(), Refusal> {
    let Some(directory) = path.parent() else { return Ok(()) };
    if is_among_devices(directory, system.mount_of(directory).as_ref()) {
        return Err(Refusal::FileAmongDevices { path: path.to_owned() });
    }
    Ok(())
}

/// Checks whether the existing `directory` is a valid place for the data of `path`, both with links resolved.
fn check_directory(system: &System, path: &Path, directory: &Path) -> Result<(), Refusal> {
    let mount = system.mount_of(directory);
    if is_among_devices(directory, mount.as_ref()) {
        return Err(Refusal::NoSuchDevice {
            path: path.to_owned(),
            similar: similar_devices(path, directory),
        });
    }
    let by_table = mount.and_then(|mount| by_name(&mount.kind));
    // If the mount table cannot be read, the magic number still identifies all but devtmpfs.
    let by_number = || statfs(directory).ok().and_then(|answer| kernel_file_system(&answer));
    match by_table.or_else(by_number) {
        Some(file_system) => Err(Refusal::KernelFile { path: path.to_owned(), file_system }),
        None => Ok(()),
    }
}

/// The name of the kernel's pseudo file system in `answer`, if it is one.
pub(super) fn kernel_file_system(answer: &StatFs) -> Option<&'static str> {
    // The field is signed, and shorter on 32-bit systems than the numbers in the table.
    let kind = i128::from(answer.f_type) & 0xffff_ffff;
    KERNEL_FILE_SYSTEMS.iter().find(|(magic, _)| i128::from(*magic) == kind).map(|(_, name)| *name)
}

fn by_name(kind: &str) -> Option<&'static str> {
    KERNEL_FILE_SYSTEMS.iter().find(|(_, name)| *name == kind).map(|(_, name)| *name)
}

fn is_among_devices(directory: &Path, mount: Option<&Mount>) -> bool {
    if mount.is_some_and(|mount| mount.kind == "devtmpfs") {
        return true;
    }
    let own_mount = mount.is_some_and(|mount| {
        mount.mount_point != Path::new(DEVICES) && mount.mount_point.starts_with(DEVICES)
    });
    directory.starts_with(DEVICES) && !directory.starts_with(SHARED_MEMORY) && !own_mount
}

pub(super) fn place_of(path: &Path, links_left: u32) -> io::Result<PathBuf> {
    match std::fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        found => return found,
    }
    let Some(parent) = path.parent() else { return Err(io::ErrorKind::NotFound.into()) };
    if let Ok(link) = std::fs::read_link(path) {
        let links_left = links_left.checked_sub(1).ok_or_else(|| io::Error::from(rustix::io::Errno::LOOP))?;
        return place_of(&parent.join(link), links_left);
    }
    let parent = place_of(parent, links_left)?;
    Ok(match path.file_name() {
        Some(name) => parent.join(name),
        // It ends in `..`.
        None => parent.parent().unwrap_or(&parent).to_owned(),
    })
}

/// Block devices near `path` with the most similar names; if there are none, those in `/dev`.
fn similar_devices(path: &Path, directory: &Path) -> Vec<PathBuf> {
    let wanted = path.file_name().unwrap_or_default().as_bytes();
    let alike = |name: &[u8]| name.iter().zip(wanted).take_while(|(one, other)| one == other).count();
    let key = |device: &PathBuf| {
        let name = device.file_name().unwrap_or_default().as_bytes();
        // Most systems have many of these, and hardly anyone means them.
        let is_virtual = name.starts_with(b"loop") || name.starts_with(b"ram");
        (Reverse(alike(name)), is_virtual, name.len(), name.to_owned())
    };
    let mut devices = block_devices_in(directory);
    if devices.is_empty() {
        devices = block_devices_in(Path::new(DEVICES));
    }
    devices.sort_by_cached_key(key);
    devices.truncate(SIMILAR_MAX);
    devices
}

fn block_devices_in(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let is_device =
        |path: &PathBuf| std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device());
    paths.filter(is_device).collect()
}

pub(super) fn same_inode(one: &Metadata, two: &Metadata) -> bool {
    (one.dev(), one.ino(), one.rdev()) == (two.dev(), two.ino(), two.rdev())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::made_up::made_up;

    /// A system whose mount table has a file system of this kind on `directory`.
    fn with_mount(kind: &str, directory: &Path) -> (tempfile::TempDir, System) {
        let line = format!("990001 1 0:9999 / {} rw - {kind} none rw\n", directory.display());
        made_up(&[("proc/self/mountinfo", &line)])
    }

    /// A user mistyped a device in a chroot and got a file on the file system that holds its devices.
    #[test]
    fn no_file_is_made_where_the_mount_table_says_devices_or_controls_of_the_kernel() {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path().canonicalize().unwrap();
        std::fs::create_dir(here.join("below")).unwrap();
        let (_root, devices) = with_mount("devtmpfs", &here);
        for name in ["nvme9n1", "below/x", "not/there/yet"] {
            let refusal = check_new_file_on(&devices, &here.join(name)).unwrap_err();
            assert!(matches!(refusal, Refusal::NoSuchDevice { .. }), "{refusal}");
        }
        for kind in ["proc", "sysfs", "cgroup2", "debugfs", "devpts", "mqueue"] {
            let (_root, controls) = with_mount(kind, &here);
            let refusal = check_new_file_on(&controls, &here.join("x")).unwrap_err();
            assert!(matches!(refusal, Refusal::KernelFile { file_system, .. } if file_system == kind));
        }
        for kind in ["ext4", "tmpfs", "nfs4"] {
            let (_root, disk) = with_mount(kind, &here);
            check_new_file_on(&disk, &here.join("x")).unwrap();
        }
    }

    #[test]
    fn a_link_is_judged_by_where_it_would_make_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path().canonicalize().unwrap();
        let (devices, disk) = (here.join("devices"), here.join("disk"));
        std::fs::create_dir(&devices).unwrap();
        std::fs::create_dir(&disk).unwrap();
        let (_root, system) = with_mount("devtmpfs", &devices);
        symlink("../devices/new", disk.join("dangling")).unwrap();
        symlink("../devices", disk.join("directory")).unwrap();
        symlink("circle", disk.join("circle")).unwrap();
        for name in ["dangling", "directory/new", "directory/a/b/../../new", "missing/../../devices/new"] {
            let refusal = check_new_file_on(&system, &disk.join(name)).unwrap_err();
            assert!(matches!(refusal, Refusal::NoSuchDevice { .. }), "{name}: {refusal}");
        }
        assert!(check_new_file_on(&system, &disk.join("circle")).is_err());
        check_new_file_on(&system, &disk.join("directory/../disk/new")).unwrap();
        check_new_file_on(&system, &devices.join("../disk/new")).unwrap();
    }

    #[test]
    fn dev_is_closed_but_for_shared_memory_and_mounts_of_their_own() {
        let mount = |kind: &str, at: &str| {
            let (_root, system) = with_mount(kind, Path::new(at));
            system.mounts().remove(0)
        };
        let closed = |directory: &str, mount: &Mount| is_among_devices(Path::new(directory), Some(mount));
        let root = mount("ext4", "/");
        let tmpfs = mount("tmpfs", "/dev");
        for on in [&root, &tmpfs] {
            assert!(closed("/dev", on) && closed("/dev/disk/by-id", on) && closed("/dev/mapper", on));
            assert!(!closed("/dev/shm", on) && !closed("/dev/shm/mine", on));
        }
        assert!(is_among_devices(Path::new("/dev"), None));
        assert!(!closed("/dev/shm", &mount("tmpfs", "/dev/shm")));
        assert!(!closed("/dev/asm/one", &mount("ext4", "/dev/asm")));
        assert!(!closed("/device", &root) && !closed("/srv/dev", &root));
        assert!(closed("/srv/chroot/dev", &mount("devtmpfs", "/srv/chroot/dev")));
    }
}
