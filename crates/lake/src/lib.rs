//! The history of watched sources for engines that read Parquet: exported from a local store, or moved from the repository of a fleet to
//! tables of Apache Iceberg.

mod columns;
mod data_file;
mod day;
mod error;
mod export;
mod file;
mod iceberg;
mod moves;
mod place;
mod rows;
mod table;

pub use error::{ExportError, MoveError};
pub use export::{Exported, export};
pub use moves::{MoveEvent, MoveRequest, MovedDay, movable_days, move_days};
