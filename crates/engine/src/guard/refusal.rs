//! Why a target must not be written: what was found, where, and what the user can do.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{fmt, io};

use iostall_measure::foreign::shell_path;
use iostall_measure::{ByteCount, WindowsPath};
use thiserror::Error;

use super::database::DatabaseFile;
use super::signature::Signature;

/// A reason not to write. Nothing has been written when one is returned.
#[derive(Debug, Error)]
pub enum Refusal {
    #[error("{} is a {kind}; only a regular file or a block device can be written", path.display())]
    Kind { path: PathBuf, kind: &'static str },
    /// A dangling link: the file would be created somewhere the user may not expect.
    #[error("{} is a symbolic link that leads nowhere", path.display())]
    DanglingLink { path: PathBuf },
    /// A file of the kernel, where writing is a command.
    #[error("{} is on {file_system}, a pseudo file system of the kernel", path.display())]
    KernelFile { path: PathBuf, file_system: &'static str },
    /// A missing device: a file created in its place would live in memory and look like a device.
    #[error("there is no device {}; iostall does not create files in device directories", path.display())]
    NoSuchDevice {
        /// With every link resolved.
        path: PathBuf,
        /// Block devices that exist, the most similar first.
        similar: Vec<PathBuf>,
    },
    /// Nothing exists there, and the name is a Windows path, which would create a file of that name in the
    /// current directory.
    #[error("{} is a Windows {}, and nothing here has that name", path.display(), kind.name())]
    WindowsPath { path: PathBuf, kind: WindowsPath },
    /// The path led to something else when it was opened than when it was checked.
    #[error("{} was replaced while it was being checked", path.display())]
    Replaced { path: PathBuf },
    #[error("{} is in use as swap ({swap})", path.display())]
    Swap {
        path: PathBuf,
        /// Its entry in `/proc/swaps`.
        swap: String,
    },
    #[error("{} cannot be written: {what} is mounted on {}", path.display(), mount_point.display())]
    Mounted { path: PathBuf, what: String, mount_point: PathBuf },
    #[error("{} cannot be written: {device} is part of {holder}", path.display())]
    Held {
        path: PathBuf,
        /// The target, its disk or its partition.
        device: String,
        holder: String,
    },
    #[error("{} cannot be written: {device} belongs to a mounted btrfs", path.display())]
    InBtrfs {
        path: PathBuf,
        /// The target, its disk or its partition.
        device: String,
    },
    #[error("{} cannot be written: it is the file behind /dev/{loop_device}", path.display())]
    UnderLoop { path: PathBuf, loop_device: String },
    /// The kernel denies exclusive access: mounted in another namespace, or held by another program.
    #[error("{} is in exclusive use by the kernel or another program", path.display())]
    Busy { path: PathBuf },
    #[error("{} is in use by {holder}", path.display())]
    InUse { path: PathBuf, holder: LockHolder },
    #[error("{} is not a device but an ordinary file in a device directory, which is kept in memory", path.display())]
    FileAmongDevices { path: PathBuf },
    #[error("{} would be a new file in a directory of {found}", path.display())]
    DatabaseDirectory { path: PathBuf, found: DatabaseFile },
    #[error("{} exists, was not made by iostall, and holds {}", path.display(), ByteCount(*size_bytes))]
    FileNotNamed { path: PathBuf, size_bytes: u64 },
    #[error("{} is a block device, which is written only with explicit permission", path.display())]
    DeviceNotNamed { path: PathBuf },
    #[error("{} belongs to a database: {found}", path.display())]
    Database { path: PathBuf, found: DatabaseFile },
    #[error("{} is not empty: {}", path.display(), list(found))]
    Signatures { path: PathBuf, found: Vec<Signature> },
    /// The user must say whether the link or what it leads to is meant.
    #[error("{} is a symbolic link to {}, and is not replaced by a file", path.display(), leads_to.display())]
    Link { path: PathBuf, leads_to: PathBuf },
    #[error("{} is a {kind}, and is not replaced by a copy", path.display())]
    NotReplaced { path: PathBuf, kind: &'static str },
    #[error("{} is a {kind}, which is never removed", path.display())]
    NotRemoved { path: PathBuf, kind: &'static str },
    #[error("{} is {what}: it cannot be renamed or removed", path.display())]
    Protected {
        path: PathBuf,
        /// In the words of `lsattr`.
        what: &'static str,
        /// The letter for `chattr`.
        flag: char,
    },
    #[error("{} cannot be replaced: something is mounted on it", path.display())]
    MountPoint { path: PathBuf },
    /// In a sticky directory only the owner may rename or remove the file.
    #[error("{} belongs to another user, and its directory is sticky: only the owner may replace it", path.display())]
    Sticky { path: PathBuf },
    #[error("there is no directory {}", path.display())]
    NoDirectory { path: PathBuf },
    #[error("{}: cannot {action}: {source}", path.display())]
    System {
        path: PathBuf,
        /// The action that failed, to complete "cannot …".
        action: &'static str,
        source: io::Error,
    },
}

impl Refusal {
    /// What the user can do, as a sentence for a `hint:` line.
    pub fn hint(&self) -> String {
        if let Some(hint) = self.hint_for_used().or_else(|| self.hint_for_name()) {
            return hint;
        }
        match self {
            Self::Kind { .. } => {
                "name a file inside the directory you want to test, or a block device".into()
            }
            Self::DanglingLink { .. } => "remove the link, or name the file it should lead to".into(),
            Self::KernelFile { .. } => "name a file on a disk's file system".into(),
            Self::WindowsPath { path, kind } => format!(
                "{}; a file of this very name is {}",
                kind.hint(),
                shell_path(&PathBuf::from(".").join(path))
            ),
            Self::NoSuchDevice { similar, .. } if similar.is_empty() => {
                "`lsblk` lists the devices of this machine".into()
            }
            Self::NoSuchDevice { similar, .. } => {
                let names: Vec<String> = similar.iter().map(|device| device.display().to_string()).collect();
                format!("there are {}; `lsblk` lists all", names.join(", "))
            }
            Self::Replaced { .. } => {
                "find out which program replaces it, and try again when it has finished".into()
            }
            Self::FileAmongDevices { path } => {
                format!("`rm {}` if nobody needs it; `lsblk` lists the devices", shell_path(path))
            }
            Self::DatabaseDirectory { path, .. } => format!(
                "name a file in a directory of its own on the same file system, or allow it there with `--overwrite {}`",
                shell_path(path)
            ),
            Self::FileNotNamed { path, .. } | Self::DeviceNotNamed { path } => {
                format!("name another target, or destroy its content with `--overwrite {}`", shell_path(path))
            }
            Self::Database { path, .. } => format!(
                "name another target; only `--destroy-database {}` lets iostall overwrite it",
                shell_path(path)
            ),
            Self::Signatures { path, .. } => {
                format!(
                    "name another device; only `--destroy {}` lets iostall overwrite it",
                    shell_path(path)
                )
            }
            _ => "check that the path exists and that this user may read and write it".into(),
        }
    }

    fn hint_for_used(&self) -> Option<String> {
        Some(match self {
            Self::Swap { path, .. } => format!("`swapoff {}` first, if it is not needed", shell_path(path)),
            Self::Mounted { mount_point, .. } => format!(
                "test through the file system with a file under {0}, or `umount {0}` first",
                shell_path(mount_point)
            ),
            Self::Held { holder, .. } => {
                format!(
                    "name /dev/{holder} instead, or take {holder} apart first (lvchange, dmsetup, mdadm --stop)"
                )
            }
            Self::InBtrfs { device, .. } => {
                format!("`btrfs filesystem show /dev/{device}` says which; unmount it first")
            }
            Self::UnderLoop { loop_device, .. } => {
                format!("name /dev/{loop_device} instead, or `losetup --detach /dev/{loop_device}` first")
            }
            Self::Busy { path } => {
                format!(
                    "`lsblk {0}` and `fuser --verbose {0}` show by what; reading needs no permission",
                    shell_path(path)
                )
            }
            Self::InUse { path, .. } => format!(
                "wait until it ends, or name another file; `fuser --verbose {}` shows who has it open",
                shell_path(path)
            ),
            _ => return None,
        })
    }

    fn hint_for_name(&self) -> Option<String> {
        Some(match self {
            Self::Link { path, leads_to } => format!(
                "name {} itself if that is to be replaced, or remove the link {} first",
                leads_to.display(),
                path.display()
            ),
            Self::NotReplaced { kind: "block device", .. } => {
                "a device is overwritten only if it is named again with that option".into()
            }
            Self::NotRemoved { path, .. } => format!("`rm {}` removes it", shell_path(path)),
            Self::NotReplaced { .. } | Self::MountPoint { .. } | Self::Sticky { .. } => {
                "name a new file, or a directory to copy into; `-` is standard output".into()
            }
            Self::Protected { path, flag, .. } => {
                format!(
                    "name another destination; `chattr -{flag} {}` removes the protection",
                    shell_path(path)
                )
            }
            Self::NoDirectory { path } => format!("`mkdir -p {}` makes it", shell_path(path)),
            _ => return None,
        })
    }
}

fn list(found: &[Signature]) -> String {
    let mut text = String::new();
    for (index, signature) in found.iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(text, "{comma}{signature}");
    }
    text
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockHolder {
    pub pid: Option<u32>,
    pub program: Option<String>,
    pub is_iostall: bool,
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid, &self.program) {
            (Some(pid), _) if self.is_iostall => write!(f, "another run of iostall (process {pid})"),
            (Some(pid), Some(program)) => write!(f, "{program} (process {pid}), which has locked it"),
            (Some(pid), None) => write!(f, "process {pid}, which has locked it"),
            (None, _) => f.write_str("another program, which has locked it"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantReason {
    /// The file has just been created and is empty. It has no mark yet.
    Created,
    /// An empty file that belongs to no database. It has no mark yet.
    Empty,
    MadeByIostall,
    /// The user named this file, or this block device without a known signature.
    Overwrite,
    /// The user named this file with the flag for database files.
    DestroyDatabase(DatabaseFile),
    /// The user named this device with the flag for devices that have something on them.
    DestroySignatures(Vec<Signature>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_where_and_what_next() {
        let refusal = Refusal::Signatures {
            path: "/dev/sdx".into(),
            found: vec![Signature { what: "xfs", offset: 0 }, Signature { what: "LUKS", offset: 4096 }],
        };
        assert_eq!(refusal.to_string(), "/dev/sdx is not empty: xfs at byte 0, LUKS at byte 4096");
        assert_eq!(
            refusal.hint(),
            "name another device; only `--destroy /dev/sdx` lets iostall overwrite it"
        );
    }
}
