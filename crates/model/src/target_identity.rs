//! What a target is, whatever it was called: what a look back at earlier runs compares. Two values are equal where both are one thing;
//! where that cannot be known there is none, and nothing is taken for the same.

use serde::{Deserialize, Serialize};

use crate::device::Partition;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetIdentity {
    /// A device, or a part of one, that says which one it is.
    Device {
        /// [`DeviceIdentity::key`](crate::device::DeviceIdentity::key).
        key: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        partition: Option<Partition>,
    },
    /// A device without a lasting name: known until it is detached, or the machine boots.
    Attached {
        boot: String,
        /// The kernel's number of this attachment, given once in a boot.
        sequence: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        partition: Option<Partition>,
    },
    File(FileIdentity),
    /// The scratch file, which is made anew for each run in this directory.
    Scratch(FileIdentity),
    /// Nothing that is stored anywhere: a simulated device, by its name.
    Synthetic {
        name: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIdentity {
    /// Key of the device below: a clone of a volume has the same file systems and inodes. Absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The id of the file system; of one on a network its server and export.
    pub file_system: String,
    pub inode: u64,
    /// When it was made, nanoseconds since 1970: an inode is given again to the next file. Absent if the file system does not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub born_ns: Option<u64>,
}
