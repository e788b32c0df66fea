//! An archive of PostgreSQL's write-ahead log, which brings a base backup to a point in time after it.

pub(super) mod access;
mod archive;
mod directory;
mod error;
mod fetch;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod incoming;
mod inventory;
mod list;
mod name;
mod partial;
mod place;
pub(super) mod point;
mod point_error;
pub(super) mod prune;
mod reach;
mod receive;
mod records;
mod settings;
mod target;

pub use self::archive::{ArchiveRequest, Archived, archive};
pub use self::error::WalError;
pub use self::fetch::{FetchRequest, Fetched, fetch};
pub use self::incoming::{ReceiveError, ReceiveEvent, Received};
pub use self::list::{WalListRequest, list};
pub use self::point::PointRequest;
pub use self::point_error::{Denied, PointError};
pub use self::receive::{ReceiveRequest, drop_slot, receive};
pub use self::target::{AtTarget, Until};
