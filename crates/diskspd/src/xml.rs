//! DiskSpd's XML profile: reading (`-X`) and writing (`-Rp`, and inside each XML report).

mod read;
mod tree;
mod write;

#[cfg(test)]
mod tests;

pub use read::read_profile;
pub use tree::{DEPTH_MAX, ELEMENTS_MAX, PROFILE_BYTES_MAX, ProfileError};
pub use write::{XmlWriter, write_profile};
pub(crate) use write::{is_not_xml, write_distribution, write_profile_into};
