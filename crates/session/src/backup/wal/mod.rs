//! An archive of PostgreSQL's write-ahead log, which brings a base backup to a point in time after it.

mod archive;
mod directory;
mod error;
mod fetch;
mod history;
mod inventory;
mod list;
mod name;
mod page;
mod reach;
mod records;

pub use self::archive::{ArchiveRequest, Archived, archive};
pub use self::error::WalError;
pub use self::fetch::{FetchRequest, Fetched, fetch};
pub use self::list::{WalListRequest, list};
