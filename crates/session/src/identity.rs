//! What a file, a directory or a device is, however it was named.

use std::fs::File;
use std::io;
use std::path::Path;

use iostall_engine::files::{FileKind, file_system_uuid, path_bytes, stamp_of_path};
use iostall_host::System;
use iostall_model::device::DeviceIdentity;
use iostall_model::{Identity, PathIdentity};

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
        FileKind::Special => {
            let identity = system.identity_of(&path);
            if let Some(key) = identity.as_ref().and_then(DeviceIdentity::key) {
                let partition = identity.and_then(|identity| identity.partition);
                let part =
                    partition.map(|partition| format!(" partition {}", partition.number)).unwrap_or_default();
                return Ok(Identity::Device { key: format!("{key}{part}") });
            }
            // What a name of device mapper leads to has another number tomorrow.
            let path = std::path::absolute(named)?;
            (path.clone(), path.parent().unwrap_or(Path::new("/")).to_owned())
        }
        FileKind::Regular | FileKind::Symlink => {
            let directory = path.parent().unwrap_or(Path::new("/")).to_owned();
            (path, directory)
        }
    };
    let file_system = match system.mount_of(&directory) {
        Some(mount) if SHARES.contains(&mount.kind.as_str()) => Some(mount.source),
        _ => file_system_uuid(&File::open(&directory)?)?,
    };
    let in_container = system.is_container();
    // A container that does not know its file system has nothing else than its name.
    let is_known_by_file_system = in_container && file_system.is_some();
    let machine = (!is_known_by_file_system).then(|| machine(system, in_container));
    let directory_inode = is_known_by_file_system.then(|| stamp_of_path(&directory)).transpose()?;
    Ok(Identity::Path(PathIdentity {
        path: path.to_str().map_or_else(|| path_bytes(&path).escape_ascii().to_string(), str::to_owned),
        file_system,
        machine,
        directory_inode: directory_inode.map(|stamp| stamp.inode),
    }))
}

fn machine(system: &System, in_container: bool) -> String {
    let id = system.machine_id().filter(|_| !in_container);
    id.map_or_else(|| system.host().hostname, |id| id.chars().take(MACHINE_DIGITS).collect())
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
        assert_eq!(path_of(&host, &a).machine.as_deref(), Some("0123456789ab"));
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
