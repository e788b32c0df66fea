//! An archive of PostgreSQL's write-ahead log, which brings a base backup to a point in time after it.

pub(super) mod access;
mod archive;
mod denied;
mod directory;
mod error;
mod event;
mod fetch;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod history;
mod incoming;
mod inventory;
mod list;
mod name;
mod page;
mod partial;
mod place;
pub(super) mod point;
mod point_error;
pub(super) mod prune;
mod reach;
mod receive;
mod receive_error;
mod records;
mod scan;
mod settings;
mod target;

pub use self::archive::{ArchiveRequest, Archived, archive};
pub use self::denied::Denied;
pub use self::error::WalError;
pub use self::event::{ReceiveEvent, Received};
pub use self::fetch::{FetchRequest, Fetched, fetch};
pub use self::list::{WalListRequest, list};
pub use self::point::PointRequest;
pub use self::point_error::PointError;
pub use self::receive::{ReceiveRequest, drop_slot, receive};
pub use self::receive_error::ReceiveError;
pub use self::target::{AtTarget, Until};
