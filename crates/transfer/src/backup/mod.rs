//! Striped backups: their format, making them, and reading them.
//!
//! ```text
//! create:   source ── transfers ──► compress, encrypt ──► stripes, then the manifest
//! restore:  stripes ── runs of frames ──► check, decrypt, decompress ──► files
//! ```

pub mod catalog;
pub mod codec;
pub mod create;
pub mod format;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod manifest_file;
pub mod pages;
mod places;
pub mod read;
pub mod rebuild;
pub mod restore;
pub mod streamed_files;
pub mod tar;
mod trial;
mod upload_note;
pub mod verify;
pub mod wal_file;
pub mod xbstream;

#[cfg(test)]
mod tests;
