//! Why a target may not be written: what was found, where, and what the user can do.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;

use iostall_measure::ByteCount;
use iostall_measure::foreign::shell_path;
use thiserror::Error;

use super::database::DatabaseFile;
use super::lock_holder::LockHolder;
use super::signature::Signature;

/// Nothing has been written when one of these is returned.
#[derive(Debug, Error)]
pub enum Refusal {
    /// Neither a regular file nor a block device.
    #[error("{} is a {kind}; only a regular file or a block device can be written", path.display())]
    Kind {
        /// The target.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// A symbolic link to nothing: the file made through it would be somewhere the user may not expect.
    #[error("{} is a symbolic link that leads nowhere", path.display())]
    DanglingLink {
        /// The link.
        path: PathBuf,
    },
    /// A file of the kernel, where writing is a command.
    #[error("{} is on {file_system}, whose files are controls of the kernel", path.display())]
    KernelFile {
        /// The target.
        path: PathBuf,
        /// Type of the file system.
        file_system: &'static str,
    },
    /// Nothing is there, and it is where only devices are: a file made there would live in memory and look like a
    /// device.
    #[error("there is no device {}; iostall makes no files among the devices", path.display())]
    NoSuchDevice {
        /// Where the file would be, every link followed.
        path: PathBuf,
        /// Block devices that exist, the most similar first.
        similar: Vec<PathBuf>,
    },
    /// What the path leads to changed between the look and the opening.
    #[error("{} was replaced while it was being checked", path.display())]
    Replaced {
        /// The target.
        path: PathBuf,
    },
    /// The system swaps to it.
    #[error("{} is in use as swap ({swap})", path.display())]
    Swap {
        /// The target.
        path: PathBuf,
        /// The entry of `/proc/swaps`.
        swap: String,
    },
    /// It, its disk or one of its partitions is mounted.
    #[error("{} cannot be written: {what} is mounted on {}", path.display(), mount_point.display())]
    Mounted {
        /// The target.
        path: PathBuf,
        /// The file or device that is mounted.
        what: String,
        /// Where.
        mount_point: PathBuf,
    },
    /// Another device of the kernel stands on it: device mapper, LVM, md, bcache.
    #[error("{} cannot be written: {device} is part of {holder}", path.display())]
    Held {
        /// The target.
        path: PathBuf,
        /// The target, its disk or its partition.
        device: String,
        /// What stands on it.
        holder: String,
    },
    /// A btrfs over several devices is mounted, and it is one of them.
    #[error("{} cannot be written: {device} belongs to a mounted btrfs", path.display())]
    InBtrfs {
        /// The target.
        path: PathBuf,
        /// The target, its disk or its partition.
        device: String,
    },
    /// A loop device presents it.
    #[error("{} cannot be written: it is the file behind /dev/{loop_device}", path.display())]
    UnderLoop {
        /// The target.
        path: PathBuf,
        /// Kernel name.
        loop_device: String,
    },
    /// The kernel does not give it to us alone: mounted in another namespace, or held by another program.
    #[error("{} is in exclusive use by the kernel or another program", path.display())]
    Busy {
        /// The target.
        path: PathBuf,
    },
    /// Another run of iostall uses it, or another program has locked it.
    #[error("{} is in use by {holder}", path.display())]
    InUse {
        /// The target.
        path: PathBuf,
        /// By whom.
        holder: LockHolder,
    },
    /// A regular file where only devices are, left there by mistake.
    #[error("{} is no device but an ordinary file among the devices: it lives in memory", path.display())]
    FileAmongDevices {
        /// The file.
        path: PathBuf,
    },
    /// Nothing is there, but the directory is a database's, and no word names the file.
    #[error("{} would be a new file in a directory of {found}", path.display())]
    DatabaseDirectory {
        /// The file that would be made.
        path: PathBuf,
        /// Whose directory, and by what it was recognised.
        found: DatabaseFile,
    },
    /// A file with content that iostall did not make, and no word that names it.
    #[error("{} exists, was not made by iostall, and holds {}", path.display(), ByteCount(*size_bytes))]
    FileNotNamed {
        /// The target.
        path: PathBuf,
        /// Its length.
        size_bytes: u64,
    },
    /// A block device, and no word that names it.
    #[error("{} is a block device, which is written only when named", path.display())]
    DeviceNotNamed {
        /// The target.
        path: PathBuf,
    },
    /// Part of a database, and no strong enough word.
    #[error("{} belongs to a database: {found}", path.display())]
    Database {
        /// The target.
        path: PathBuf,
        /// What it was recognised as, and by what.
        found: DatabaseFile,
    },
    /// A block device with something on it, and no strong enough word.
    #[error("{} is not empty: {}", path.display(), list(found))]
    Signatures {
        /// The target.
        path: PathBuf,
        /// All that was found.
        found: Vec<Signature>,
    },
    /// A link at the destination of a copy: whether it or what it leads to was meant is for the user to say.
    #[error("{} is a symbolic link to {}, and is not replaced by a file", path.display(), leads_to.display())]
    Link {
        /// The link.
        path: PathBuf,
        /// What it says.
        leads_to: PathBuf,
    },
    /// Something at the destination of a copy that a file never takes the place of.
    #[error("{} is a {kind}, and is not replaced by a copy", path.display())]
    NotReplaced {
        /// The destination.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
    },
    /// `chattr +i` or `+a`.
    #[error("{} is {what}: the file system lets nobody rename or remove what is there", path.display())]
    Protected {
        /// The file or directory.
        path: PathBuf,
        /// As `lsattr` would explain it.
        what: &'static str,
        /// The letter of `chattr`.
        flag: char,
    },
    /// A file that another one is mounted on.
    #[error("{} cannot be replaced: something is mounted on it", path.display())]
    MountPoint {
        /// The file.
        path: PathBuf,
    },
    /// Somebody else's file in a directory where only owners rename.
    #[error("{} belongs to another user, and its directory is sticky: only the owner may replace it", path.display())]
    Sticky {
        /// The file.
        path: PathBuf,
    },
    /// The directory that something should be put into is not there, or is none.
    #[error("there is no directory {}", path.display())]
    NoDirectory {
        /// Its name.
        path: PathBuf,
    },
    /// The system did not let us look or open.
    #[error("{}: cannot {action}: {source}", path.display())]
    System {
        /// The target.
        path: PathBuf,
        /// What was tried, as the rest of a sentence.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl Refusal {
    /// What the user can do, a sentence for a `hint:` line.
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
            Self::NoSuchDevice { similar, .. } if similar.is_empty() => {
                "`lsblk` lists the devices of this machine".into()
            }
            Self::NoSuchDevice { similar, .. } => {
                let names: Vec<String> = similar.iter().map(|device| device.display().to_string()).collect();
                format!("there are {}; `lsblk` lists all", names.join(", "))
            }
            Self::Replaced { .. } => {
                "see which program replaces it, and start again when it has finished".into()
            }
            Self::FileAmongDevices { path } => format!(
                "`rm {}` if nobody needs it, and look with `lsblk` for the device you mean",
                shell_path(path)
            ),
            Self::DatabaseDirectory { path, .. } => format!(
                "name a file in a directory of its own on the same file system, or let iostall make it there with \
                 `--overwrite {}`",
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

    /// For what the system or another program uses.
    fn hint_for_used(&self) -> Option<String> {
        Some(match self {
            Self::Swap { path, .. } => format!("`swapoff {}` first, if it can be spared", shell_path(path)),
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

    /// For a name that a copy is not given.
    fn hint_for_name(&self) -> Option<String> {
        Some(match self {
            Self::Link { path, leads_to } => format!(
                "name {} itself if that is to be replaced, or remove the link {} first",
                leads_to.display(),
                path.display()
            ),
            Self::NotReplaced { kind: "block device", .. } => {
                "what is on a device is overwritten only when it is named once more as that".into()
            }
            Self::NotReplaced { .. } | Self::MountPoint { .. } | Self::Sticky { .. } => {
                "name a new file, or a directory to copy into".into()
            }
            Self::Protected { path, flag, .. } => {
                format!(
                    "name another destination; `chattr -{flag} {}` takes the protection away",
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
