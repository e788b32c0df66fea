//! What a file, a directory or a device is, however it was named.

use std::fs::File;
use std::io;
use std::path::Path;

use iostall_engine::files::{FileKind, file_system_uuid, path_bytes, stamp_of_path};
use iostall_host::System;
use iostall_model::device::Partition;
use iostall_model::{Identity, PathIdentity, TargetIdentity};

/// The name of another host's share is that of its file system.
const SHARES: [&str; 5] = ["nfs", "nfs4", "cifs", "smb3", "ceph"];
/// So much of a machine's id tells machines apart; the whole of it is not for others to know.
const MACHINE_DIGITS: usize = 12;

pub(crate) fn identity_of(path: &Path) -> io::Result<Identity> {
    of_path(&System::here(), path)
}

fn of_path(system: &System, named: &Path) -> io::Result<Identity> {
    let path = named.canonicalize()?;
    let stamp = stamp_of_path(&path)?;
    let (path, directory) = match stamp.kind {
        FileKind::Directory => (path.clone(), path),
        FileKind::Special => return Ok(device(system, &path)),
        FileKind::Regular | FileKind::Symlink => {
            let directory = path.parent().unwrap_or(Path::new("/")).to_owned();
            (path, directory)
        }
    };
    let file_system = match system.mount_of(&directory) {
        Some(mount) if SHARES.contains(&mount.kind.as_str()) => Some(mount.source),
        _ => file_system_uuid(&File::open(&directory)?)?,
    };
    // A container has another name each night; one that does not know its file system has nothing else.
    let has_lasting_name = !system.is_container() || file_system.is_none();
    Ok(Identity::Path(PathIdentity {
        path: path
            .to_str()
            .map_or_else(|| format!("bytes {}", path_bytes(&path).escape_ascii()), str::to_owned),
        file_system,
        machine: has_lasting_name.then(|| machine(system)),
        directory_inode: Some(stamp_of_path(&directory)?.inode),
    }))
}

/// A device without a lasting name is the same until it is detached or the machine boots: what its path leads to then is another one.
fn device(system: &System, path: &Path) -> Identity {
    let part = |partition: Option<Partition>| {
        partition.map_or_else(String::new, |partition| format!(" partition {}", partition.number))
    };
    match system.target_identity(path) {
        Some(TargetIdentity::Device { key, partition }) => Identity::Device { key: key + &part(partition) },
        Some(TargetIdentity::Attached { boot, sequence, partition }) => {
            Identity::Device { key: format!("attached {boot} {sequence}{}", part(partition)) }
        }
        _ => Identity::Unnamed,
    }
}

/// Its name and its id: clones of a machine have one id, and machines of different owners one name.
fn machine(system: &System) -> String {
    let id = system.machine_id().filter(|_| !system.is_container()).unwrap_or_default();
    let id: String = id.chars().take(MACHINE_DIGITS).collect();
    [system.host().hostname, id].join(" ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(root: &Path, files: &[(&str, &str)]) -> System {
        for (name, text) in files {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        System::at(root)
    }

    fn path_of(system: &System, path: &Path) -> PathIdentity {
        match of_path(system, path).unwrap() {
            Identity::Path(identity) => identity,
            other => panic!("{other}"),
        }
    }

    /// The story: two directories called `data` were backed up from where they are, and the only backup of one of them was deleted for
    /// the other's. A container, which has another name each night, never found its base.
    #[test]
    fn a_directory_is_one_by_its_place_and_not_by_its_spelling_or_the_name_of_a_container() {
        let root = tempfile::tempdir().unwrap();
        let [a, b] = ["a/data", "b/data"].map(|name| root.path().join(name));
        std::fs::create_dir_all(&a).unwrap();
        std::fs::create_dir_all(&b).unwrap();
        std::os::unix::fs::symlink(&a, root.path().join("link")).unwrap();
        let host = machine(&root.path().join("host"), &[("etc/machine-id", "0123456789abcdef0123\n")]);
        assert_eq!(path_of(&host, &a), path_of(&host, &root.path().join("link")));
        assert_ne!(path_of(&host, &a), path_of(&host, &b));
        assert!(path_of(&host, &a).machine.is_some_and(|machine| machine.ends_with("0123456789ab")));
        // Another directory was mounted there.
        std::fs::rename(&a, root.path().join("other")).unwrap();
        let before = path_of(&host, &root.path().join("other")).directory_inode;
        std::fs::create_dir(&a).unwrap();
        assert_ne!(path_of(&host, &a).directory_inode, before);
        let night = |name: &str| {
            let files = [(".dockerenv", ""), ("proc/sys/kernel/hostname", name)];
            path_of(&machine(&root.path().join(name), &files), &a)
        };
        let (first, second) = (night("3f2a9c"), night("77aa00"));
        if first.file_system.is_some() {
            assert_eq!((&first, first.machine.as_deref()), (&second, None));
            assert!(first.directory_inode.is_some());
        } else {
            assert!(first.machine.is_some(), "nothing else tells it from other containers");
        }
    }

    /// Each night a dump takes the place of the last one.
    #[test]
    fn a_file_that_is_written_anew_stays_what_it_was() {
        let root = tempfile::tempdir().unwrap();
        let system = machine(&root.path().join("host"), &[(".dockerenv", "")]);
        let dump = root.path().join("shop.sql");
        let written = |text: &str| {
            let new = root.path().join("new");
            std::fs::write(&new, text).unwrap();
            std::fs::rename(new, &dump).unwrap();
            path_of(&system, &dump)
        };
        assert_eq!(written("one"), written("two"));
    }
}
