//! Files of PostgreSQL's write-ahead log in an archive: a header, then frames. docs/formats.md draws them.

mod error;
mod read;
mod write;

#[cfg(test)]
mod tests;

pub use error::WalFileError;
pub use read::{read_content, read_header};
pub use write::{Sums, WalFileWriter, write_header};
