//! Output formats of windows and comparisons of watched sources.

mod backups;
pub(crate) mod columns;
pub mod comparison;
mod forms;
mod page;
mod sentences;
mod timed;

pub use forms::{write_watch_csv, write_watch_json, write_watch_junit};
pub use page::{heading, sections, title};
pub use sentences::{reasons, sentences};
pub use timed::TimedCsv;
