//! Pages of databases and the files they are in: what a file's name says, and whether a page is as it was written.

mod checksum;
mod incremental_file;
mod innodb;
mod relation_file;

pub use checksum::{PageState, checksum, state_of};
pub use incremental_file::{INCREMENTAL, IncrementalError, IncrementalFile};
pub use innodb::{InnodbPage, InnodbSpace, Unverifiable};
pub use relation_file::{Fork, RelationFile, blocks_in_words, is_tablespace_file, pages_in_words};
