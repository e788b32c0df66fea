//! DiskSpd's XML profile: reading (`-X`) and writing (`-Rp`, and inside each XML report).

mod error;
mod read;
mod tree;
mod write;
mod writer;

#[cfg(test)]
mod tests;

pub use error::{DEPTH_MAX, ELEMENTS_MAX, PROFILE_BYTES_MAX, ProfileError};
pub use read::read_profile;
pub use write::write_profile;
pub(crate) use write::{write_distribution, write_profile_into};
pub use writer::XmlWriter;
pub(crate) use writer::is_not_xml;
